internal import CSQLite
internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// The functions that compiled queries call, see ``TableLayout/Function``.
enum SQLFunctions {
    static func install(on connection: SQLiteConnection) throws(StorageError) {
        try add(TableLayout.Function.fold, 1, to: connection, fold)
        try add(TableLayout.Function.like, 3, to: connection, like)
        try add(TableLayout.Function.id, 2, to: connection, id)
        try add(TableLayout.Function.arithmetic, -1, to: connection, arithmetic)
        try add(TableLayout.Function.decimal, 2, to: connection, decimal)
        try SQLAggregates.install(on: connection)
    }

    private static let fold: Function = { context, _, arguments in
        guard let arguments, let text = SQLFunctions.text(arguments[0]) else { return }
        SQLFunctions.answer(context, CaseFolding.fold(text))
    }

    private static let like: Function = { context, _, arguments in
        guard let arguments, let pattern = SQLFunctions.text(arguments[0]),
            let text = SQLFunctions.text(arguments[1])
        else { return }
        let ignoresCase = sqlite3_value_int(arguments[2]) != 0
        sqlite3_result_int(context, LikePattern.matches(pattern, text, ignoresCase: ignoresCase) ? 1 : 0)
    }

    private static let id: Function = { context, _, arguments in
        guard let arguments, let name = SQLFunctions.text(arguments[0]), let key = SQLFunctions.key(arguments[1])
        else { return }
        let id = Identity(className: name, key: key).objectID
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
            sqlite3_result_blob(context, $0.baseAddress, 16, SQLFunctions.transient)
        }
    }

    private static let arithmetic: Function = { context, count, arguments in
        guard let arguments, count > 0, let text = SQLFunctions.text(arguments[0]),
            let program = ArithmeticProgram(text: text)
        else { return }
        SQLFunctions.answer(
            context,
            program.run { index in index + 1 < count ? SQLFunctions.binding(arguments[index + 1]) : .null })
    }

    private static let decimal: Function = { context, _, arguments in
        guard let arguments, let type = ScalarType(code: Int(sqlite3_value_int64(arguments[0]))) else { return }
        SQLFunctions.answer(context, SQLFunctions.binding(arguments[1]).decimalKey(of: type))
    }

    /// Tells SQLite to copy a result.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private typealias Function =
        @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private static func add(
        _ name: String, _ argumentCount: Int32, to connection: SQLiteConnection, _ function: @escaping Function
    ) throws(StorageError) {
        let result = sqlite3_create_function_v2(
            connection.handle, name, argumentCount, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, function, nil, nil, nil)
        guard result == SQLITE_OK else { throw connection.error(result) }
    }

    private static func text(_ value: OpaquePointer?) -> String? {
        guard sqlite3_value_type(value) != SQLITE_NULL, let start = sqlite3_value_text(value) else { return nil }
        let count = Int(sqlite3_value_bytes(value))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    static func binding(_ value: OpaquePointer?) -> SQLBinding {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: .real(sqlite3_value_double(value))
        case SQLITE_TEXT: .text(text(value) ?? "")
        case SQLITE_BLOB:
            .blob(
                Array(
                    UnsafeRawBufferPointer(
                        start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))))
        default: .null
        }
    }

    static func answer(_ context: OpaquePointer?, _ binding: SQLBinding) {
        switch binding {
        case .null: sqlite3_result_null(context)
        case .integer(let number): sqlite3_result_int64(context, number)
        case .real(let number): sqlite3_result_double(context, number)
        case .text(let text): answer(context, text)
        case .blob(let bytes):
            // Without bytes there is no address, which SQLite would take for null.
            if bytes.isEmpty { return sqlite3_result_zeroblob(context, 0) }
            sqlite3_result_blob(context, bytes, Int32(clamping: bytes.count), transient)
        }
    }

    private static func key(_ value: OpaquePointer?) -> ObjectKey? {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: .int(sqlite3_value_int64(value))
        case SQLITE_TEXT: text(value).map { .string($0) }
        case SQLITE_BLOB:
            UUID(
                bytes: UnsafeRawBufferPointer(
                    start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
            ).map { .uuid($0) }
        default: nil
        }
    }

    private static func answer(_ context: OpaquePointer?, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_result_text(context, $0.baseAddress, Int32(clamping: $0.count), transient)
            }
        }
    }
}
