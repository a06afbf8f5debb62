internal import SluiceModel
package import SluiceQuery

/// What a query computes over everything that it matches, as a store shows it.
struct ShownFigures: Hashable, Sendable {
    /// How many objects match; nil unless the query asks for its total, and while that is not known.
    var total: ShownTotal?
    /// The groups of a query with AGGREGATE; nil of any other.
    var groups: ShownGroups?
}

/// How many objects match a query that asks for its total, as a store shows it.
package struct ShownTotal: Hashable, Sendable {
    package let count: Int
    /// Whether it is what the server would say if it had all writes of this store; see ``ShownGroups/isExact``.
    package let isExact: Bool

    package init(count: Int, isExact: Bool) {
        self.count = count
        self.isExact = isExact
    }

    /// The same where so many results are shown. A store that has more of them than the server has said so far shows no
    /// lesser total.
    ///
    /// - Parameter isOfResults: whether the results are all that match, so that they are counted.
    func beside(_ resultCount: Int, isOfResults: Bool) -> ShownTotal {
        if isOfResults { return ShownTotal(count: resultCount, isExact: isExact) }
        return ShownTotal(count: max(count, resultCount), isExact: isExact && count >= resultCount)
    }
}

/// The groups of a query with AGGREGATE, as a store shows them.
package struct ShownGroups: Hashable, Sendable {
    /// In order, within the query's limit.
    package let groups: [GroupFigures]
    /// Whether they are what the server would say if it had all writes of this store: false where the server has not
    /// said anything yet or has refused the query, while nobody observes it, and where pending writes change what cannot
    /// be told from here.
    package let isExact: Bool

    /// The same, exact only where something else holds, too.
    func exact(_ isExact: Bool) -> ShownGroups {
        isExact || !self.isExact ? self : ShownGroups(groups: groups, isExact: false)
    }
}

/// What pending writes of one object change of what a query computes.
enum FigureEffect: Hashable {
    /// It was among what is computed on with some values in the server's image, and is with some now.
    case move(was: [Value]?, now: [Value]?)
    /// It is with some values now, and was not as far as this store knows; but the server may have had it.
    case guess(now: [Value])
    /// It cannot be judged here.
    case unknown

    /// What is taken away and what is added, as far as it is known.
    fileprivate var moves: (was: [Value]?, now: [Value]?) {
        switch self {
        case .move(let was, let now): (was, now)
        case .guess(let now): (nil, now)
        case .unknown: (nil, nil)
        }
    }

    fileprivate var isCertain: Bool { if case .move = self { true } else { false } }
}

/// What pending writes do to the total of a query because of one object.
struct TotalEffect: Hashable {
    /// By how much it changes, as far as this store knows.
    var change = 0
    /// Whether that is right whatever the server has that is not here.
    var isCertain = true

    static let none = Self()
}

extension ShownGroups {
    /// Of what is here.
    ///
    /// - Parameter isAll: whether no server knows more.
    init(of table: FigureTable, isAll: Bool) {
        self.init(groups: table.aggregates.shown(table.shown), isExact: isAll)
    }

    /// Puts together what the server has said and what pending writes make of it.
    ///
    /// - Parameters:
    ///   - said: the groups that the server shows.
    ///   - isCurrent: whether nothing but writes of this store can have changed them since.
    init(
        _ aggregates: Query.Aggregates, said: [GroupFigures], changedBy effects: some Collection<FigureEffect>,
        isCurrent: Bool
    ) {
        guard !effects.isEmpty else {
            self.init(groups: aggregates.shown(said), isExact: isCurrent)
            return
        }
        var table = FigureTable(aggregates, knowing: said)
        var isExact = isCurrent && table.isWhole
        // What comes first leaves an extreme known that goes.
        for effect in effects {
            if !effect.isCertain { isExact = false }
            guard let now = effect.moves.now else { continue }
            if !table.isWhole, !table.knows(now) {
                isExact = false
            } else {
                do throws(FigureError) { try table.add(now) } catch { isExact = false }
            }
        }
        for effect in effects {
            guard let was = effect.moves.was else { continue }
            if !table.knows(was) { isExact = false }
            table.remove(was)
        }
        table.settle()
        let shown = aggregates.shown(table.shown)
        self.init(groups: shown, isExact: isExact && shown.allSatisfy { table.isExact($0.keys) })
    }
}
