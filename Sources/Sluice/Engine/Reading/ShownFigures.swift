internal import SluiceModel
package import SluiceQuery

/// What a query computes over everything that it matches, as a store shows it.
struct ShownFigures: Hashable, Sendable {
    /// How many objects match; nil unless the query asks for its total, and while that is not known.
    var total: Int?
    /// The groups of a query with AGGREGATE; nil of any other.
    var groups: ShownGroups?
}

/// The groups of a query with AGGREGATE, as a store shows them.
package struct ShownGroups: Hashable, Sendable {
    /// In order, within the query's limit.
    package let groups: [GroupFigures]
    /// Whether they are what the server would say if it had all writes of this store: false where the server has not
    /// said anything yet, and where pending writes change what cannot be told from here.
    package let isExact: Bool
}

/// What pending writes of one object change of what a query computes.
enum FigureEffect: Hashable {
    /// It was among what is computed on with some values in the server's image, and is with some now.
    case move(was: [Value]?, now: [Value]?)
    /// It cannot be judged here.
    case unknown
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
            guard case .move(_, let now) = effect else {
                isExact = false
                continue
            }
            guard let now else { continue }
            if !table.isWhole, !table.knows(now) {
                isExact = false
            } else {
                do throws(FigureError) { try table.add(now) } catch { isExact = false }
            }
        }
        for case .move(let was?, _) in effects {
            if !table.knows(was) { isExact = false }
            table.remove(was)
        }
        table.settle()
        let shown = aggregates.shown(table.shown)
        self.init(groups: shown, isExact: isExact && shown.allSatisfy { table.isExact($0.keys) })
    }
}
