internal import SluiceModel

/// What `sluice import` would make of a file, without a server: both passes, with bad rows skipped and counted.
package struct ImportTrial: Sendable, Hashable {
    package private(set) var rowCount = 0
    package private(set) var badRowCount = 0

    /// - Parameter path: a file whose name ends in .csv or .jsonl.
    /// - Throws: what `sluice import` would end with.
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
