package import SluiceModel

/// Compiles checked queries to SQL over the tables of ``TableLayout``.
///
/// In every statement the queried class's table has the alias ``rootAlias``. All constants are parameters.
package struct SQLCompiler: Sendable {
    /// What a statement returns of each result.
    package enum Output: Sendable {
        /// The local row id.
        case rows
        /// The given SQL expressions, which name columns of the root by its alias, such as `o."p_price"`.
        case columns([String])
        /// One row with the number of results.
        case count
    }

    /// In which order, and so with which limit, results come.
    package enum Order: Sendable {
        /// The query's own: its sort, ties by object id, and its limit.
        case result
        /// Ascending local row ids above `after`, whatever the query's sort and limit: for paging through a scan.
        case row(after: Int64)
    }

    /// The alias of the queried class's table.
    package static let rootAlias = "o"

    let schema: Schema
    let layout: TableLayout

    package init(schema: Schema, layout: TableLayout = TableLayout()) {
        self.schema = schema
        self.layout = layout
    }
}

extension SQLCompiler {
    /// A statement that runs a query over a class.
    ///
    /// - Parameters:
    ///   - query: checked against this compiler's schema; never one of a single object by id.
    ///   - restriction: a further condition on the root, such as `o._row IN (SELECT row FROM temp.members)`.
    ///   - limit: fewer results than the query's own limit allows; for `.row` the size of a page.
    package func select(
        _ query: Query, _ output: Output = .rows, order: Order = .result, restrictedTo restriction: SQLStatement? = nil,
        limit: Int? = nil
    ) -> SQLStatement {
        SQLStatement("")
    }
}
