internal import SluiceModel
internal import SluiceViews

/// Collects edits for a busy observer, in stretches of one origin. Each stretch becomes one event.
///
/// If the origins alternate for long, the stretches are gathered into two: one with the objects last changed locally,
/// and one with those last changed by the server. So no event mixes origins, and the memory is bounded by the number of
/// objects concerned, however often they change.
///
/// Edits of objects that come and leave meanwhile are dropped, see ``condense(without:wasHeld:)``: those concerned are
/// the objects that are held before what waits or after it.
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
    /// The first of the stretches that have not been condensed since another began or they were gathered.
    private var firstLoose = 0
    /// How many edits the loose stretches may have before they are worth condensing.
    private var looseEditCountMax = Self.looseEditCountMin

    private static let looseEditCountMin = 8

    var isEmpty: Bool { stretches.isEmpty }

    /// The last edit of an object that waits; nil if there is none.
    func lastEdit(of object: ObjectRef) -> ResultEdit? { lastEdit(of: object, before: stretches.count) }

    private func lastEdit(of object: ObjectRef, before end: Int) -> ResultEdit? {
        var touch: ResultEdit?
        for stretch in stretches[..<end].reversed() {
            guard let edit = stretch.edits[object] else { continue }
            guard case .touch = edit else { return edit }
            touch = edit
        }
        return touch
    }

    /// Whether an object is held after all that waits.
    ///
    /// - Parameter wasHeld: whether it is held before; asked only where no edit decides.
    func isHeld(_ object: ObjectRef, if wasHeld: @autoclosure () -> Bool) -> Bool {
        isHeld(object, before: stretches.count, if: wasHeld())
    }

    private func isHeld(_ object: ObjectRef, before end: Int, if wasHeld: @autoclosure () -> Bool) -> Bool {
        switch lastEdit(of: object, before: end) {
        case nil, .touch: wasHeld()
        case .upsert: true
        case .remove: false
        }
    }

    /// What the query computes after all that waits; nil if nothing waits.
    var lastFigures: ShownFigures? { stretches.last.map(\.figures) }

    /// The objects with waiting edits.
    var objects: [ObjectRef] { stretches.flatMap(\.edits.objects) }

    var editCount: Int { stretches.reduce(0) { $0 + $1.edits.count } }

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
                firstLoose = stretches.count - 1
                looseEditCountMax = Self.looseEditCountMin
            }
        }
        let last = stretches.count - 1
        stretches[last].edits.add(edits)
        stretches[last].figures = figures
        if case .remote(let authors) = origin { stretches[last].authors?.add(authors) }
    }

    /// Removes and returns the oldest stretch.
    mutating func removeFirst() -> Stretch? {
        guard !stretches.isEmpty else { return nil }
        firstLoose = max(firstLoose - 1, 0)
        return stretches.removeFirst()
    }

    /// Whether ``condense(without:wasHeld:)`` is worth its time.
    var isLong: Bool { looseEditCount > looseEditCountMax }

    private var looseEditCount: Int { stretches[firstLoose...].reduce(0) { $0 + $1.edits.count } }

    /// Drops edits that no event needs: those of objects that are held neither before nor after them. O(edits).
    ///
    /// - Parameters:
    ///   - beyond: objects that are held after all that waits, and shall not be: they are behind what is shown.
    ///   - wasHeld: whether an object is held before anything that waits.
    mutating func condense(without beyond: Set<ObjectRef>, wasHeld: (ObjectRef) -> Bool) {
        for number in firstLoose..<stretches.count {
            let edits = stretches[number].edits.all.filter { edit in
                if beyond.contains(edit.object) { return false }
                if case .upsert = edit { return true }
                return isHeld(edit.object, before: number, if: wasHeld(edit.object))
            }
            stretches[number].edits = EditSet(edits)
        }
        let gone = beyond.sorted().filter { isHeld($0, if: wasHeld($0)) }
        stretches[stretches.count - 1].edits.add(gone.map { .remove($0, .window) })
        looseEditCountMax = max(Self.looseEditCountMin, looseEditCount * 2)
    }

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
        firstLoose = 0
        looseEditCountMax = Self.looseEditCountMin
    }
}

/// A set of edits, one for each object: the last, except that a touch does not replace an earlier edit.
struct EditSet {
    private(set) var objects: [ObjectRef] = []
    private var edits: [ObjectRef: ResultEdit] = [:]

    init(_ edits: [ResultEdit] = []) { add(edits) }

    var count: Int { objects.count }

    /// The edit of an object; nil if there is none.
    subscript(object: ObjectRef) -> ResultEdit? { edits[object] }

    /// The edits, in the order in which their objects were first added.
    var all: [ResultEdit] { objects.compactMap { edits[$0] } }

    mutating func add(_ more: [ResultEdit]) {
        for edit in more {
            guard let earlier = edits.updateValue(edit, forKey: edit.object) else {
                objects.append(edit.object)
                continue
            }
            if case .touch = edit { edits[edit.object] = earlier }
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
