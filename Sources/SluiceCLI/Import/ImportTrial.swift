internal import SluiceModel

/// Runs both passes of `sluice import` over a file without a server, and skips and counts bad rows.
package struct ImportTrial: Sendable, Hashable {
    package private(set) var rowCount = 0
    package private(set) var badRowCount = 0

    /// - Parameter path: a file whose name ends in .csv or .jsonl.
    /// - Throws: the error with which `sluice import` would end.
    package init(path: String) throws {
        let file = try ImportFile(path: path, skipsBadRows: true)
        let plan = try ImportPlan(
            .init(className: "Row", key: nil, links: []), columns: file.infer(), schema: Schema())
        let reader = try ImportFormat(path: path).reader(path: path)
        while true {
            do {
                guard try reader.next() else { return }
                _ = try reader.row(plan, ids: .process)
                rowCount += 1
            } catch is RowError {
                badRowCount += 1
            }
        }
    }
}
