import CSQLite
import FoundationEssentials
import SluiceModel
import SluiceStorage

@testable import SluiceQuery

/// An in-memory SQLite database with the functions that compiled queries need.
final class TestDatabase {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var handle: OpaquePointer?

    init() throws {
        guard sqlite3_open(":memory:", &handle) == SQLITE_OK else { throw failure("open") }
        registerNumbers()
        registerMemo()
        register(TableLayout.Function.fold, 1) { context, _, values in
            guard let text = TestDatabase.text(values?[0]) else { return sqlite3_result_null(context) }
            TestDatabase.setResult(context, CaseFolding.fold(text))
        }
        register(TableLayout.Function.like, 3) { context, _, values in
            guard let pattern = TestDatabase.text(values?[0]), let text = TestDatabase.text(values?[1]) else {
                return sqlite3_result_null(context)
            }
            let matches = LikePattern.matches(pattern, text, ignoresCase: sqlite3_value_int(values?[2]) != 0)
            sqlite3_result_int(context, matches ? 1 : 0)
        }
        register(TableLayout.Function.search(.beginsWith), 2) { TestDatabase.search($0, $2, .beginsWith) }
        register(TableLayout.Function.search(.endsWith), 2) { TestDatabase.search($0, $2, .endsWith) }
        register(TableLayout.Function.search(.contains), 2) { TestDatabase.search($0, $2, .contains) }
        register(TableLayout.Function.size, 1) { context, _, values in
            guard sqlite3_value_type(values?[0]) != SQLITE_NULL else { return sqlite3_result_null(context) }
            sqlite3_result_int(context, sqlite3_value_bytes(values?[0]))
        }
        register(TableLayout.Function.id, 2) { context, _, values in
            let className = TestDatabase.text(values?[0]) ?? ""
            let key: ObjectKey
            switch sqlite3_value_type(values?[1]) {
            case SQLITE_INTEGER: key = .int(sqlite3_value_int64(values?[1]))
            case SQLITE_TEXT: key = .string(TestDatabase.text(values?[1]) ?? "")
            default: key = .uuid(.init(bytes: TestDatabase.bytes(values?[1])) ?? .init())
            }
            let id = SQLBinding.bytes(of: Identity(className: className, key: key).objectID)
            sqlite3_result_blob(context, id, Int32(id.count), TestDatabase.transient)
        }
    }

    deinit { sqlite3_close_v2(handle) }

    private static func search(
        _ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?, _ comparison: ComparisonOperator
    ) {
        let isFound: Bool
        switch (binding(values?[0]), binding(values?[1])) {
        case (.text(var text), .text(var needle)):
            isFound = text.withUTF8 { text in needle.withUTF8 { TextSearch.finds($0, in: text, comparison) } }
        case (.blob(let data), .blob(let needle)):
            isFound = data.withUnsafeBufferPointer { data in
                needle.withUnsafeBufferPointer { TextSearch.finds($0, in: data, comparison) }
            }
        default: return
        }
        sqlite3_result_int(context, isFound ? 1 : 0)
    }

    /// The values that the running statement has remembered.
    private var remembered: [[SQLBinding]: SQLBinding] = [:]

    private static func database(_ context: OpaquePointer?) -> TestDatabase? {
        sqlite3_user_data(context).map { Unmanaged<TestDatabase>.fromOpaque($0).takeUnretainedValue() }
    }

    private func registerMemo() {
        func add(_ name: String, _ count: Int32, _ function: @escaping Function) {
            sqlite3_create_function_v2(
                handle, name, count, SQLITE_UTF8, Unmanaged.passUnretained(self).toOpaque(), function, nil, nil, nil)
        }
        add(TableLayout.Function.knows, 2) { context, _, values in
            let place = [TestDatabase.binding(values?[0]), TestDatabase.binding(values?[1])]
            sqlite3_result_int(context, TestDatabase.database(context)?.remembered[place] == nil ? 0 : 1)
        }
        add(TableLayout.Function.recall, 2) { context, _, values in
            let place = [TestDatabase.binding(values?[0]), TestDatabase.binding(values?[1])]
            TestDatabase.setResult(context, TestDatabase.database(context)?.remembered[place] ?? .null)
        }
        add(TableLayout.Function.remember, 3) { context, _, values in
            let place = [TestDatabase.binding(values?[0]), TestDatabase.binding(values?[1])]
            TestDatabase.database(context)?.remembered[place] = TestDatabase.binding(values?[2])
            sqlite3_result_value(context, values?[2])
        }
    }

    private func registerNumbers() {
        register(TableLayout.Function.arithmetic, -1) { context, count, values in
            let program = TestDatabase.text(values?[0]).flatMap(ArithmeticProgram.init(text:))
            let result = program?.run { $0 + 1 < count ? TestDatabase.binding(values?[$0 + 1]) : .null }
            TestDatabase.setResult(context, result ?? .null)
        }
        register(TableLayout.Function.decimal, 2) { context, _, values in
            let type = ScalarType(code: Int(sqlite3_value_int(values?[0]))) ?? .int
            TestDatabase.setResult(context, TestDatabase.binding(values?[1]).decimalKey(of: type))
        }
        for index in TableLayout.Function.aggregates.indices {
            let (operation, type) = TableLayout.Function.aggregates[index]
            sqlite3_create_function_v2(
                handle, TableLayout.Function.name(of: operation, type), 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                UnsafeMutableRawPointer(bitPattern: index + 1), nil,
                { context, _, values in TestDatabase.step(context, values) }, { TestDatabase.finish($0) }, nil)
        }
    }

    private final class Gathered {
        var aggregation: Aggregation

        init(_ aggregation: Aggregation) { self.aggregation = aggregation }
    }

    private static func aggregate(_ context: OpaquePointer?) -> (operation: AggregateOperation, type: ScalarType) {
        TableLayout.Function.aggregates[Int(bitPattern: sqlite3_user_data(context)) - 1]
    }

    private static func step(_ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size))
        else { return }
        let slot = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let (operation, type) = aggregate(context)
        let gathered: Gathered
        if let known = slot.pointee {
            gathered = Unmanaged<Gathered>.fromOpaque(known).takeUnretainedValue()
        } else {
            gathered = Gathered(Aggregation(operation, of: type))
            slot.pointee = Unmanaged.passRetained(gathered).toOpaque()
        }
        gathered.aggregation.add(binding(values?[0]).value(of: type) ?? .null)
    }

    private static func finish(_ context: OpaquePointer?) {
        let (operation, type) = aggregate(context)
        guard let memory = sqlite3_aggregate_context(context, 0),
            let known = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee
        else { return setResult(context, SQLBinding(Aggregation(operation, of: type).result) ?? .null) }
        let gathered = Unmanaged<Gathered>.fromOpaque(known).takeRetainedValue()
        setResult(context, SQLBinding(gathered.aggregation.result) ?? .null)
    }

    private static func binding(_ value: OpaquePointer?) -> SQLBinding {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: .real(sqlite3_value_double(value))
        case SQLITE_TEXT: .text(text(value) ?? "")
        case SQLITE_BLOB: .blob(bytes(value))
        default: .null
        }
    }

    private static func setResult(_ context: OpaquePointer?, _ binding: SQLBinding) {
        switch binding {
        case .null: sqlite3_result_null(context)
        case .integer(let value): sqlite3_result_int64(context, value)
        case .real(let value): sqlite3_result_double(context, value)
        case .text(let text): setResult(context, text)
        case .blob(let bytes): sqlite3_result_blob(context, bytes, Int32(bytes.count), transient)
        }
    }

    private typealias Function =
        @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private func register(_ name: String, _ count: Int32, _ function: @escaping Function) {
        sqlite3_create_function_v2(
            handle, name, count, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, function, nil, nil, nil)
    }

    private static func text(_ value: OpaquePointer?) -> String? {
        guard let text = sqlite3_value_text(value) else { return nil }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
    }

    private static func bytes(_ value: OpaquePointer?) -> [UInt8] {
        guard let blob = sqlite3_value_blob(value) else { return [] }
        return Array(UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_value_bytes(value))))
    }

    private static func setResult(_ context: OpaquePointer?, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_result_text(context, $0.baseAddress, Int32($0.count), transient)
            }
        }
    }

    private func failure(_ text: String) -> Failure {
        Failure(description: "\(String(cString: sqlite3_errmsg(handle))) in: \(text)")
    }

    func execute(_ statement: SQLStatement) throws { _ = try integers(statement) }

    /// The first column of every row, as integers.
    func integers(_ statement: SQLStatement) throws -> [Int64] {
        try rows(statement) { sqlite3_column_int64($0, 0) }
    }

    /// All columns of every row.
    func bindings(_ statement: SQLStatement) throws -> [[SQLBinding]] {
        try rows(statement) { row in
            (0..<sqlite3_column_count(row)).map { TestDatabase.binding(sqlite3_column_value(row, $0)) }
        }
    }

    private func rows<Content>(_ statement: SQLStatement, _ read: (OpaquePointer?) -> Content) throws -> [Content] {
        remembered = [:]
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, statement.text, -1, &prepared, nil) == SQLITE_OK else {
            throw failure(statement.text)
        }
        defer { sqlite3_finalize(prepared) }
        for (index, binding) in statement.bindings.enumerated() { bind(binding, Int32(index + 1), prepared) }
        var result: [Content] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: result.append(read(prepared))
            case SQLITE_DONE: return result
            default: throw failure(statement.text)
            }
        }
    }

    private func bind(_ binding: SQLBinding, _ index: Int32, _ prepared: OpaquePointer?) {
        switch binding {
        case .null: sqlite3_bind_null(prepared, index)
        case .integer(let value): sqlite3_bind_int64(prepared, index, value)
        case .real(let value): sqlite3_bind_double(prepared, index, value)
        case .text(var text):
            text.withUTF8 { bytes in
                _ = bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(prepared, index, $0.baseAddress, Int32($0.count), Self.transient)
                }
            }
        case .blob(let bytes):
            if bytes.isEmpty {
                sqlite3_bind_zeroblob(prepared, index, 0)
            } else {
                sqlite3_bind_blob(prepared, index, bytes, Int32(bytes.count), Self.transient)
            }
        }
    }
}
