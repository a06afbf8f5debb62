package import SluiceModel
package import SluiceQuery

extension Query.Aggregates {
    /// The place of a group in the query's order, as a text that orders as ``compare(_:_:)`` does.
    ///
    /// - Parameter columns: the group's keys and results, as ``columns(of:)`` gives them.
    package func placeText(of columns: [Value]) -> String {
        PlaceText.of(
            order.map { columns[$0.column] } + columns.prefix(groups.count),
            order.map(\.isAscending) + groups.map { _ in true })
    }
}
