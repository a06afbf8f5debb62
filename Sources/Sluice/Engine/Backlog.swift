internal import SluiceModel
internal import SluiceViews

/// Edits that wait for a busy consumer, in stretches of one origin: each becomes one event.
///
/// Where the origins alternate for long, what waits is gathered: then one event tells what was last changed here, and
/// one what was last changed by the server. So no event mixes origins, and what waits is bounded by the objects
/// concerned and not by how often they change.
struct Backlog {
    struct Stretch {
        fileprivate(set) var edits = EditSet()
        /// The commits of the server that the edits came with; nil when they were made here.
        fileprivate(set) var authors: AuthorList?

        fileprivate var isRemote: Bool { authors != nil }

        var origin: ChangeOrigin { authors.map { .remote($0.all) } ?? .local }
    }

    /// The most events that wait.
    static let stretchCountMax = 8

    private var stretches: [Stretch] = []

    var isEmpty: Bool { stretches.isEmpty }

    /// The objects with waiting edits.
    var objects: [ObjectRef] { stretches.flatMap(\.edits.objects) }

    /// Adds what a transaction changed. Without edits it only sees to it that an event will tell the state.
    mutating func append(_ edits: [ResultEdit], origin: ChangeOrigin) {
        if edits.isEmpty, !stretches.isEmpty { return }
        if stretches.last?.isRemote != origin.isRemote {
            if stretches.count == Self.stretchCountMax { gather(lastIsRemote: origin.isRemote) }
            if stretches.last?.isRemote != origin.isRemote {
                stretches.append(Stretch(authors: origin.isRemote ? AuthorList() : nil))
            }
        }
        let last = stretches.count - 1
        stretches[last].edits.add(edits)
        if case .remote(let authors) = origin { stretches[last].authors?.add(authors) }
    }

    /// Takes the oldest stretch.
    mutating func removeFirst() -> Stretch? { stretches.isEmpty ? nil : stretches.removeFirst() }

    /// Makes two stretches of all: an object's last edit counts, in the stretch of that edit's origin.
    private mutating func gather(lastIsRemote: Bool) {
        var isRemote: [ObjectRef: Bool] = [:]
        for stretch in stretches {
            for edit in stretch.edits.all {
                if case .touch = edit, isRemote[edit.object] != nil { continue }
                isRemote[edit.object] = stretch.isRemote
            }
        }
        var here = Stretch()
        var there = Stretch(authors: AuthorList())
        for stretch in stretches {
            let edits = stretch.edits.all.filter { isRemote[$0.object] == stretch.isRemote }
            if let authors = stretch.authors {
                there.edits.add(edits)
                there.authors?.add(authors.all)
            } else {
                here.edits.add(edits)
            }
        }
        stretches = lastIsRemote ? [here, there] : [there, here]
    }
}

/// Edits, one of each object: the last, but touching never hides an earlier one.
struct EditSet {
    private(set) var objects: [ObjectRef] = []
    private var edits: [ObjectRef: ResultEdit] = [:]

    /// In the order in which their objects were first met.
    var all: [ResultEdit] { objects.compactMap { edits[$0] } }

    mutating func add(_ more: [ResultEdit]) {
        for edit in more {
            if edits[edit.object] == nil {
                objects.append(edit.object)
            } else if case .touch = edit {
                continue
            }
            edits[edit.object] = edit
        }
    }
}

/// Commits of the server in their order, each once.
struct AuthorList {
    private(set) var all: [Remote.Author] = []
    private var known: Set<Remote.Author> = []

    mutating func add(_ authors: [Remote.Author]) {
        for author in authors where known.insert(author).inserted { all.append(author) }
    }
}
