import SluiceModel
import SluiceQuery
import SluiceStorage

/// Everything of a server's database that follows from its journal, to compare two engines.
struct DatabaseState {
    /// One thing that is stored. Things are compared as values: dictionaries within them have no order.
    private enum Fact: Equatable {
        case line(String)
        case row(Row, className: String, deletionCount: UInt64)
        case entry(LogEntry)

        static func == (left: Fact, right: Fact) -> Bool {
            switch (left, right) {
            case (.line(let left), .line(let right)): left == right
            case (.row(let left, let leftClass, let leftCount), .row(let right, let rightClass, let rightCount)):
                left.isIdentical(to: right) && leftClass == rightClass && leftCount == rightCount
            case (.entry(let left), .entry(let right)): left == right
            default: false
            }
        }
    }

    private var facts: [Fact] = []

    /// - Parameters:
    ///   - other: whose clients to look at.
    ///   - version: the log entries after this version are looked at, with what undoes them.
    init(_ storage: SQLiteServerStorage, clientsOf other: SQLiteServerStorage, logAfter version: UInt64) throws {
        facts.append(.line("head \(storage.head), version \(storage.version), log from \(storage.logStart)"))
        facts.append(
            .line("accepted \(String(describing: storage.acceptedAt)), retyped \(storage.retypedVersion ?? 0)"))
        facts.append(
            .line("epoch \(storage.epoch), reaches \(storage.reaches(storage.version, inEpoch: storage.epoch))"))
        facts.append(.line("rules \(try storage.rulesVersion)"))
        for (classIndex, declared) in storage.schema.classes.enumerated() {
            let properties = declared.properties.map { "\($0.name) \($0.type) \($0.isIndexed) \($0.formerNames)" }
            facts.append(.line("class \(declared.name) \(declared.primaryKey ?? "") \(properties)"))
            var rows: [Row] = []
            try storage.forEachRow(ofClass: classIndex) { row in
                rows.append(row)
                return true
            }
            for row in rows.sorted(by: { $0.key < $1.key }) {
                let count = try storage.incarnation(of: ObjectRef(classIndex, row.key))
                facts.append(.row(row, className: declared.name, deletionCount: count))
            }
        }
        var id: UInt64 = 1
        while try other.hasGivenID(id) {
            facts.append(.line("client \(id) sequence \(try storage.client(id)?.sequence ?? 0)"))
            for notice in try storage.rejections(of: id) { facts.append(.line("rejection \(notice)")) }
            id += 1
        }
        try storage.forEachLogEntry(after: version) { entry in
            facts.append(.entry(entry))
            return true
        }
    }

    /// The first difference; nil if there is none.
    func difference(from other: DatabaseState) -> String? {
        guard facts != other.facts else { return nil }
        let index = facts.indices.first { $0 >= other.facts.count || facts[$0] != other.facts[$0] } ?? facts.count
        func text(_ facts: [Fact]) -> String { index < facts.count ? "\(facts[index])" : "nothing" }
        return "\(text(facts))\nand there \(text(other.facts))"
    }
}
