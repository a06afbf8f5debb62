import SluiceModel
import SluiceQuery

/// What a view holds to know its roots. The kind follows from the query.
///
/// Boxed, since most views hold nothing.
indirect enum RootState {
    /// The predicate alone decides what is a root; no root is held. With TOTAL they are counted.
    case matches(count: Int? = nil)
    /// Nothing yet: how many objects match in the state in which the view will be activated.
    case expected(matchCount: Int)
    /// The object of an `OBJECT(id)` query, once it is known.
    case object(ObjectRef?)
    /// Nothing, for a query that shows none of its matches, as `LIMIT(0)` does. With TOTAL they are counted.
    case unshown(count: Int?)
    /// The first rows of a query with a limit, and some beyond them.
    case window(Window)
    /// Everything that matches a query with DISTINCT, or with SORT after LIMIT.
    case stages(StagedRoots)
    /// What a query with AGGREGATE computes; it has no roots.
    case figures(FigureRoots)

    /// Reads what the view holds. It reads the rows of a window if there is a limit, all matches if there are stages or
    /// something is computed, and else nothing.
    ///
    /// - Parameters:
    ///   - overscan: see ``Window/init(limit:_:overscan:matchCount:in:)``.
    ///   - matchCount: how many objects match the query in the state, if that is known.
    init(_ judge: RootMatcher, overscan: Int?, matchCount: Int?, in source: any ViewSource) throws {
        let query = judge.query
        if let id = query.object {
            self = .object(try source.object(withID: id))
        } else if let aggregates = query.aggregates {
            self = .figures(try FigureRoots(aggregates, judge, in: source))
        } else if !query.stages.isEmpty {
            self = .stages(try StagedRoots(judge, overscan: overscan, in: source))
        } else if query.showsNothing {
            self = .unshown(count: query.countsMatches ? try matchCount ?? source.matchCount(of: query) : nil)
        } else if let limit = query.limit {
            self = .window(
                try Window(limit: limit, judge, overscan: overscan, matchCount: matchCount, in: source))
        } else {
            self = .matches(count: query.hasTotal ? try matchCount ?? source.matchCount(of: query) : nil)
        }
    }

    /// The roots in order, if they are held.
    ///
    /// - Parameter classIndex: the queried class.
    func held(ofClass classIndex: Int) -> [ObjectRef]? {
        switch self {
        case .matches, .expected: nil
        case .object(let object): object.map { [$0] } ?? []
        case .window(let window): window.members.map { ObjectRef(classIndex, $0) }
        case .stages(let stages): stages.members
        case .unshown, .figures: []
        }
    }

    /// The same state, which can then change independently.
    func copy() -> RootState {
        switch self {
        case .matches, .expected, .object, .unshown: self
        case .window(let window): .window(window.copy())
        case .stages(let stages): .stages(stages.copy())
        case .figures(let figures): .figures(figures.copy())
        }
    }

    /// Whether an object is a root.
    func contains(_ object: ObjectRef, _ judge: RootMatcher, in source: any ObjectSource) throws -> Bool {
        if case .object(let known) = self { return try object == known && source.isPresent(object) }
        guard object.classIndex == judge.query.classIndex else { return false }
        switch self {
        case .matches, .expected, .object:
            return try source.row(object).map { try judge.matches($0, in: source) } ?? false
        case .window(let window):
            return try source.row(object).map { try window.contains($0, judge, in: source) } ?? false
        case .stages(let stages): return stages.contains(object)
        case .unshown, .figures: return false
        }
    }

    /// Follows a commit group.
    ///
    mutating func apply(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource, before: OldStateSource
    ) throws -> RootChanges {
        switch self {
        case .matches(let count):
            let changes = try judge.matchChanges(commit, in: source, before: before)
            guard let count else { return RootChanges(all: changes) }
            let now = changes.reduce(count) { $0 + ($1.isRoot ? 1 : 0) - ($1.wasRoot ? 1 : 0) }
            self = .matches(count: now)
            return RootChanges(all: changes, total: now == count ? nil : now)
        case .expected: preconditionFailure("a view takes commits only once it is active")
        case .object(let known):
            let object = known ?? judge.objectCreated(in: commit)
            if known == nil, object != nil { self = .object(object) }
            guard let object, let change = commit.change(of: object) else { return RootChanges() }
            return RootChanges(all: [
                RootChange(object: object, wasRoot: change.old != nil, isRoot: change.new != nil, reason: .deleted)
            ])
        case .unshown(nil): return RootChanges()
        case .unshown(let count?):
            let changes = try judge.countChanges(count, commit, in: source, before: before)
            if let now = changes.total { self = .unshown(count: now) }
            return changes
        case .window(let window): return try window.apply(commit, judge, in: source, before: before)
        case .stages(var stages):
            // Moved out, so that it is changed in place.
            self = .matches()
            defer { self = .stages(stages) }
            return RootChanges(all: try stages.apply(commit, judge, in: source, before: before))
        case .figures(let figures): return try figures.apply(commit, judge, in: source, before: before)
        }
    }
}
