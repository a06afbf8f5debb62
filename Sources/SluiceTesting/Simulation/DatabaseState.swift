import SluiceModel
import SluiceQuery
import SluiceStorage

/// Everything of a server's database that follows from its journal, as text, to compare two engines.
struct DatabaseState {
    private var lines: [String] = []

    /// - Parameters:
    ///   - other: whose clients to look at.
    ///   - version: the log entries after this version are looked at, with what undoes them.
    init(_ storage: any ServerStorage, clientsOf other: any ServerStorage, logAfter version: UInt64) throws {
        lines.append("head \(storage.head), version \(storage.version), log from \(storage.logStart)")
        lines.append("accepted \(String(describing: storage.acceptedAt)), retyped \(storage.retypedVersion ?? 0)")
        lines.append("epoch \(storage.epoch), reaches \(storage.reaches(storage.version, inEpoch: storage.epoch))")
        lines.append("rules \(try storage.rulesVersion)")
        for (classIndex, declared) in storage.schema.classes.enumerated() {
            let properties = declared.properties.map { "\($0.name) \($0.type) \($0.isIndexed) \($0.formerNames)" }
            lines.append("class \(declared.name) \(declared.primaryKey ?? "") \(properties)")
            var rows: [Row] = []
            try storage.forEachRow(ofClass: classIndex) { row in
                rows.append(row)
                return true
            }
            for row in rows.sorted(by: { $0.key < $1.key }) {
                let count = try storage.incarnation(of: ObjectRef(classIndex, row.key))
                lines.append("\(declared.name) \(row), deleted \(count) times")
            }
        }
        var id: UInt64 = 1
        while try other.hasGivenID(id) {
            lines.append("client \(id) sequence \(try storage.client(id)?.sequence ?? 0)")
            for notice in try storage.rejections(of: id) { lines.append("rejection \(notice)") }
            id += 1
        }
        try storage.forEachLogEntry(after: version) { entry in
            lines.append("\(entry)")
            return true
        }
    }

    /// The first difference; nil if there is none.
    func difference(from other: DatabaseState) -> String? {
        guard lines != other.lines else { return nil }
        let index = lines.indices.first { $0 >= other.lines.count || lines[$0] != other.lines[$0] } ?? lines.count
        func line(_ lines: [String]) -> String { index < lines.count ? lines[index] : "nothing" }
        return "\(line(lines))\nand there \(line(other.lines))"
    }
}
