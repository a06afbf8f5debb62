internal import Sluice
internal import SluiceModel
internal import SluiceQuery

/// Prints records as JSON lines, a page of them at a time. The targets of links that are expanded are asked of the server,
/// each once for a page: memory is that of a page and its targets.
struct ExpandingPrinter {
    private let store: Store
    private let expansion: Expansion
    private var page: [Record] = []
    private static let pageRowCount = 1_000

    init(_ store: Store, _ expansion: Expansion) {
        self.store = store
        self.expansion = expansion
    }

    /// Prints a record, or keeps it until its page is full.
    mutating func print(_ record: Record) async throws {
        page.append(record)
        if page.count >= Self.pageRowCount || expansion == .none { try await flush() }
    }

    /// Prints what was kept.
    mutating func flush() async throws {
        var targets = PageTargets(store)
        try await targets.add(page, expansion)
        let known = targets.records
        let renderer = RecordRenderer(expansion: expansion) { known[Identity(className: $0, key: $1)] }
        for record in page { StandardOutput.shared.append(try renderer.line(record)) }
        page = []
    }
}

/// The targets of a page's links, as the server has them.
private struct PageTargets {
    private let store: Store
    private(set) var records: [Identity: Record] = [:]
    /// The keys of a question.
    private static let keyCountMax = 1_000

    init(_ store: Store) { self.store = store }

    /// Brings the targets of expanded links of records, and theirs.
    mutating func add(_ page: [Record], _ expansion: Expansion) async throws {
        for (name, nested) in expansion.children.sorted(by: { $0.key < $1.key }) {
            guard let declared = page.first?.classSchema, let index = declared.index(of: name),
                let className = declared.properties[index].type.targetClass
            else { continue }
            var keys: Set<ObjectKey> = []
            for record in page where !record.row.absent.contains(index) {
                record.row.values[index].forEachLink { keys.insert($0) }
            }
            try await bring(keys.filter { records[Identity(className: className, key: $0)] == nil }.sorted(), className)
            try await add(keys.sorted().compactMap { records[Identity(className: className, key: $0)] }, nested)
        }
    }

    private mutating func bring(_ keys: [ObjectKey], _ className: String) async throws {
        for start in stride(from: 0, to: keys.count, by: Self.keyCountMax) {
            let part = Array(keys[start..<min(start + Self.keyCountMax, keys.count)])
            let found = try await store.host.rows(part, of: { try Query.parse(className, schema: $0) })
            let declared = found.schema[found.classIndex]
            for row in found.rows {
                records[Identity(className: className, key: row.key)] = Record(classSchema: declared, row: row)
            }
        }
    }
}
