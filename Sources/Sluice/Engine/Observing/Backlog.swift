internal import SluiceModel
internal import SluiceViews

/// Collects edits for a busy observer, in stretches of one origin. Each stretch becomes one event.
///
/// If the origins alternate for long, the stretches are gathered into two: one with the objects last changed locally,
/// and one with those last changed by the server. So no event mixes origins, and the memory is bounded by the number of
/// objects concerned, however often they change.
struct Backlog {
    struct Stretch {
        fileprivate(set) var edits = EditSet()
        /// What the query computes after the edits.
        fileprivate(set) var figures = ShownFigures()
        /// The server's commits that the edits came from; nil for local edits.
        fileprivate(set) var authors: AuthorList?

        fileprivate var isRemote: Bool { authors != nil }

        var origin: ChangeOrigin { authors.map { .remote($0.all) } ?? .local }
    }

    /// The maximum number of stretches, and so of waiting events.
    static let stretchCountMax = 8

    private var stretches: [Stretch] = []

    var isEmpty: Bool { stretches.isEmpty }

    /// The last edit of an object that waits; nil if there is none.
    func lastEdit(of object: ObjectRef) -> ResultEdit? {
        var touch: ResultEdit?
        for stretch in stretches.reversed() {
            guard let edit = stretch.edits[object] else { continue }
            guard case .touch = edit else { return edit }
            touch = edit
        }
        return touch
    }

    /// What the query computes after all that waits; nil if nothing waits.
    var lastFigures: ShownFigures? { stretches.last.map(\.figures) }

    /// The objects with waiting edits.
    var objects: [ObjectRef] { stretches.flatMap(\.edits.objects) }

    /// Adds the edits of a transaction. Without edits, and with the figures that there were, it only makes sure that an
    /// event will report the state.
    ///
    /// - Parameter figures: what the query computes after the transaction.
    mutating func append(_ edits: [ResultEdit], figures: ShownFigures = ShownFigures(), origin: ChangeOrigin) {
        if edits.isEmpty, let last = stretches.last, last.figures == figures { return }
        if stretches.last?.isRemote != origin.isRemote {
            if stretches.count == Self.stretchCountMax { gather(lastIsRemote: origin.isRemote, figures: figures) }
            if stretches.last?.isRemote != origin.isRemote {
                stretches.append(Stretch(authors: origin.isRemote ? AuthorList() : nil))
            }
        }
        let last = stretches.count - 1
        stretches[last].edits.add(edits)
        stretches[last].figures = figures
        if case .remote(let authors) = origin { stretches[last].authors?.add(authors) }
    }

    /// Removes and returns the oldest stretch.
    mutating func removeFirst() -> Stretch? { stretches.isEmpty ? nil : stretches.removeFirst() }

    /// Gathers all stretches into two. The last edit of each object counts, in the stretch of that edit's origin.
    ///
    /// - Parameter figures: what the query computes after all of them.
    private mutating func gather(lastIsRemote: Bool, figures: ShownFigures) {
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
        (here.figures, there.figures) = (figures, figures)
        stretches = lastIsRemote ? [here, there] : [there, here]
    }
}

/// A set of edits, one for each object: the last, except that a touch does not replace an earlier edit.
struct EditSet {
    private(set) var objects: [ObjectRef] = []
    private var edits: [ObjectRef: ResultEdit] = [:]

    /// The edit of an object; nil if there is none.
    subscript(object: ObjectRef) -> ResultEdit? { edits[object] }

    /// The edits, in the order in which their objects were first added.
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

/// The server's commits in their order, each once.
struct AuthorList {
    private(set) var all: [Remote.Author] = []
    private var known: Set<Remote.Author> = []

    mutating func add(_ authors: [Remote.Author]) {
        for author in authors where known.insert(author).inserted { all.append(author) }
    }
}
