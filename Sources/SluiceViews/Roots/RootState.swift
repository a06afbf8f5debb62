import SluiceModel
import SluiceQuery

/// What a view holds to know its roots. The kind follows from the query.
///
/// A reference or nothing, since most views hold nothing.
enum RootState {
    /// The predicate alone decides what is a root; no root is held.
    case matches
    /// The same, and how many they are, for a query with TOTAL.
    indirect case counted(Int)
    /// Nothing yet: what is known for the activation of the view.
    indirect case expected(Expectation)
    /// The object of an `OBJECT(id)` query, once it is known.
    indirect case object(ObjectRef?)
    /// Nothing, for a query that shows none of its matches, as `LIMIT(0)` does. With TOTAL they are counted.
    indirect case unshown(count: Int?)
    /// The first rows of a query with a limit, and some beyond them.
    case window(Window)
    /// Everything that matches a query with DISTINCT, or with SORT after LIMIT.
    indirect case stages(StagedRoots)
    /// What a query with AGGREGATE computes; it has no roots.
    case figures(FigureRoots)

    /// What is known before a view is activated.
    struct Expectation {
        /// How many objects match in the state in which the view will be activated; nil if that is not known.
        var matchCount: Int?
        /// See ``LiveView/init(_:shape:overscan:)``.
        var overscan: Int?
    }

    /// Reads what the view holds. It reads the rows of a window if there is a limit, all matches if there are stages or
    /// something is computed, and else nothing.
    ///
    /// - Parameters:
    ///   - expectation: what is known of the state.
    init(_ judge: RootMatcher, _ expectation: Expectation, in source: any ViewSource) throws {
        let query = judge.query
        let (matchCount, overscan) = (expectation.matchCount, expectation.overscan)
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
            self = query.hasTotal ? .counted(try matchCount ?? source.matchCount(of: query)) : .matches
        }
    }

    /// The roots in order, if they are held.
    ///
    /// - Parameter classIndex: the queried class.
    func held(ofClass classIndex: Int) -> [ObjectRef]? {
        switch self {
        case .matches, .counted, .expected: nil
        case .object(let object): object.map { [$0] } ?? []
        case .window(let window): window.members.map { ObjectRef(classIndex, $0) }
        case .stages(let stages): stages.members
        case .unshown, .figures: []
        }
    }

    /// The same state, which can then change independently.
    func copy() -> RootState {
        switch self {
        case .matches, .counted, .expected, .object, .unshown: self
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
        case .matches, .counted, .expected, .object:
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
        case .matches: return RootChanges(all: try judge.matchChanges(commit, in: source, before: before))
        case .counted(let count):
            let changes = try judge.matchChanges(commit, in: source, before: before)
            let now = changes.reduce(count) { $0 + ($1.isRoot ? 1 : 0) - ($1.wasRoot ? 1 : 0) }
            if now != count { self = .counted(now) }
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
            self = .matches
            defer { self = .stages(stages) }
            return RootChanges(all: try stages.apply(commit, judge, in: source, before: before))
        case .figures(let figures): return try figures.apply(commit, judge, in: source, before: before)
        }
    }
}
