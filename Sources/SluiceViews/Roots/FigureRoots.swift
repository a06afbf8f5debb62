import SluiceModel
import SluiceQuery

/// What a query with AGGREGATE computes over its matches, kept current by what comes to match and what ceases to.
///
/// No object is held. A commit costs a look at each object that it concerns, before and after, and at its groups. Where an
/// extreme has gone and nothing that is held follows it, the objects of its group are read anew: since 64 values or more
/// follow an extreme that was read, one commit of many does that. One that concerns more than 1,000 possible matches
/// through links reads everything anew.
///
/// An object, so that its groups are changed in place.
final class FigureRoots {
    private(set) var table: FigureTable

    /// Reads what matches.
    init(_ aggregates: Query.Aggregates, _ judge: RootMatcher, in source: any ViewSource) throws {
        table = try source.figureTable(of: judge.query, judge.evaluator) ?? FigureTable(aggregates)
    }

    private init(copying other: FigureRoots) { table = other.table }

    /// The same figures, which can then change independently.
    func copy() -> FigureRoots { FigureRoots(copying: self) }

    private static func add(_ values: [Value], to table: inout FigureTable, of source: any ViewSource) throws {
        do throws(FigureError) { try table.add(values) } catch { throw source.failure(error) }
    }

    /// Follows a commit group. If it fails, the figures are of no use any more.
    func apply(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource, before: any ObjectSource
    ) throws -> RootChanges {
        guard let affected = try judge.affected(by: commit, in: source, atMost: judge.shape.affectedCountMax) else {
            return try readAnew(commit, judge, in: source)
        }
        table.beginChange()
        var causes: [Int] = []
        func values(_ row: Row?, in source: any ObjectSource) throws -> [Value]? {
            guard let row, try judge.matches(row, in: source) else { return nil }
            return try judge.evaluator.sortValues(of: row, in: source)
        }
        try judge.forEachMove(commit, affected, in: source) { object, position, old, new, isMoved in
            guard isMoved else { return }
            let (were, are) = (try values(old, in: before), try values(new, in: source))
            guard were != are else { return }
            if let were { table.remove(were) }
            if let are { try Self.add(are, to: &table, of: source) }
            if let position { causes.append(position) }
            causes += affected.causes(of: object)
        }
        for keys in table.unknownExtremes {
            let functions = table.resetExtremes(of: keys)
            try source.figureRows(of: judge.query.inGroup(keys), judge.evaluator) {
                if $0.starts(with: keys) { table.readExtremes(functions, of: keys, $0) }
            }
        }
        guard let change = table.endChange() else { return RootChanges() }
        if causes.count > 1 { causes = Set(causes).sorted() }
        return RootChanges(totalCauses: causes, figures: change)
    }

    private func readAnew(
        _ commit: CommitDelta, _ judge: RootMatcher, in source: any ViewSource
    ) throws -> RootChanges {
        let former = Dictionary(uniqueKeysWithValues: table.shown.map { ($0.keys, $0) })
        table = try FigureRoots(table.aggregates, judge, in: source).table
        let shown = table.shown
        let kept = Set(shown.map(\.keys))
        let change = FigureChange(
            changed: shown.filter { former[$0.keys] != $0 }, removed: former.keys.filter { !kept.contains($0) })
        guard !change.isEmpty else { return RootChanges() }
        return RootChanges(totalCauses: Array(commit.changes.indices), figures: change)
    }
}
