public import SluiceModel
internal import SluiceQuery

/// What a query whose text has AGGREGATE computes, as a table: a row for each group, with its keys and then the results.
public struct AggregateTable: Sendable, Equatable {
    /// The names of the columns in the query language, such as `carrier` and `@avg.delay`.
    public let columns: [String]
    /// The rows in the order of the query, one value for each column; one row for a query without GROUP.
    public let rows: [[Value]]

    package init(columns: [String], rows: [[Value]]) {
        self.columns = columns
        self.rows = rows
    }
}

extension Results {
    /// What the query computes, for one whose text has AGGREGATE, such as
    /// `store.records("Flight GROUP(carrier) AGGREGATE(@count)")`. Of any other query it is a `QueryError`.
    public var aggregates: AggregateResults<Element, AggregateTable> {
        AggregateResults(
            self,
            AggregateDescription(refinement) { aggregates, group, _ in
                aggregates.columns(of: group)
            } _: {
                AggregateTable(columns: $0.columnNames, rows: $1)
            })
    }
}
