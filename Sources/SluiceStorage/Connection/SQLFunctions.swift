internal import CSQLite
internal import FoundationEssentials
internal import SluiceModel
internal import SluiceQuery

/// The functions that compiled queries call, see ``TableLayout/Function``.
///
/// Each charges the connection's ``WorkLimit`` by the size of what it touches, since SQLite counts a call as one step
/// whatever it does.
enum SQLFunctions {
    static func install(on connection: SQLiteConnection) throws(StorageError) {
        try add(TableLayout.Function.fold, 1, to: connection, fold)
        try add(TableLayout.Function.like, 3, to: connection, like)
        try add(TableLayout.Function.search(.beginsWith), 2, to: connection, beginsWith)
        try add(TableLayout.Function.search(.endsWith), 2, to: connection, endsWith)
        try add(TableLayout.Function.search(.contains), 2, to: connection, contains)
        try add(TableLayout.Function.size, 1, to: connection, size)
        try add(TableLayout.Function.id, 2, to: connection, id)
        try add(TableLayout.Function.arithmetic, -1, to: connection, arithmetic)
        try add(TableLayout.Function.decimal, 2, to: connection, decimal)
        try add(TableLayout.Function.knows, 2, to: connection, isDeterministic: false, knows)
        try add(TableLayout.Function.recall, 2, to: connection, isDeterministic: false, recall)
        try add(TableLayout.Function.remember, 3, to: connection, isDeterministic: false, remember)
        try SQLAggregates.install(on: connection)
    }

    private static let fold: Function = { context, _, arguments in
        guard let arguments, SQLFunctions.charge(context, FunctionCost.steps(ofBytes: SQLFunctions.size(arguments[0]))),
            let text = SQLFunctions.text(arguments[0])
        else { return }
        SQLFunctions.answer(context, CaseFolding.fold(text))
    }

    private static let like: Function = { context, _, arguments in
        guard let arguments, let pattern = SQLFunctions.text(arguments[0]),
            let text = SQLFunctions.text(arguments[1])
        else { return }
        let ignoresCase = sqlite3_value_int(arguments[2]) != 0
        var stepCount = 0
        let matches = LikePattern.matches(pattern, text, ignoresCase: ignoresCase, counting: &stepCount)
        guard SQLFunctions.charge(context, FunctionCost.steps(ofBytes: stepCount)) else { return }
        sqlite3_result_int(context, matches ? 1 : 0)
    }

    private static let beginsWith: Function = { SQLFunctions.search($0, $2, .beginsWith) }
    private static let endsWith: Function = { SQLFunctions.search($0, $2, .endsWith) }
    private static let contains: Function = { SQLFunctions.search($0, $2, .contains) }

    /// Looks for the second argument in the first, both text or both data, where SQLite has them.
    private static func search(
        _ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
        _ comparison: ComparisonOperator
    ) {
        guard let arguments else { return }
        let type = sqlite3_value_type(arguments[0])
        guard type == SQLITE_TEXT || type == SQLITE_BLOB, type == sqlite3_value_type(arguments[1]) else { return }
        let (text, needle) = (bytes(arguments[0]), bytes(arguments[1]))
        guard charge(context, FunctionCost.steps(ofBytes: text.count + needle.count)) else { return }
        sqlite3_result_int(context, TextSearch.finds(needle, in: text, comparison) ? 1 : 0)
    }

    private static let size: Function = { context, _, arguments in
        guard let arguments, sqlite3_value_type(arguments[0]) != SQLITE_NULL else { return }
        let byteCount = SQLFunctions.size(arguments[0])
        // SQLite has gathered the value from its pages.
        guard SQLFunctions.charge(context, FunctionCost.steps(ofBytes: byteCount)) else { return }
        sqlite3_result_int64(context, Int64(byteCount))
    }

    private static let id: Function = { context, _, arguments in
        guard let arguments, SQLFunctions.charge(context, FunctionCost.steps(ofBytes: SQLFunctions.size(arguments[1]))),
            let name = SQLFunctions.text(arguments[0]), let key = SQLFunctions.key(arguments[1])
        else { return }
        let id = Identity(className: name, key: key).objectID
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
            sqlite3_result_blob(context, $0.baseAddress, 16, SQLFunctions.transient)
        }
    }

    private static let arithmetic: Function = { context, count, arguments in
        guard let arguments, count > 0, SQLFunctions.charge(context, Int(count) * FunctionCost.numberStepCount),
            let text = SQLFunctions.text(arguments[0]), let program = ArithmeticProgram(text: text)
        else { return }
        SQLFunctions.answer(
            context,
            program.run { index in index + 1 < count ? SQLFunctions.binding(arguments[index + 1]) : .null })
    }

    private static let decimal: Function = { context, _, arguments in
        guard let arguments, SQLFunctions.charge(context, FunctionCost.numberStepCount),
            let type = ScalarType(code: Int(sqlite3_value_int64(arguments[0])))
        else { return }
        SQLFunctions.answer(context, SQLFunctions.binding(arguments[1]).decimalKey(of: type))
    }

    private static let knows: Function = { context, _, arguments in
        guard let arguments else { return }
        let value = SQLFunctions.memo(context)?.value(
            in: sqlite3_value_int64(arguments[0]), of: SQLFunctions.row(arguments[1]))
        sqlite3_result_int(context, value == nil ? 0 : 1)
    }

    private static let recall: Function = { context, _, arguments in
        guard let arguments,
            let value = SQLFunctions.memo(context)?.value(
                in: sqlite3_value_int64(arguments[0]), of: SQLFunctions.row(arguments[1]))
        else { return }
        SQLFunctions.answer(context, value)
    }

    private static let remember: Function = { context, _, arguments in
        guard let arguments else { return }
        SQLFunctions.memo(context)?.remember(
            SQLFunctions.binding(arguments[2]), in: sqlite3_value_int64(arguments[0]),
            of: SQLFunctions.row(arguments[1]))
        sqlite3_result_value(context, arguments[2])
    }

    private static func memo(_ context: OpaquePointer?) -> QueryMemo? {
        guard let user = sqlite3_user_data(context) else { return nil }
        return Unmanaged<SQLiteConnection>.fromOpaque(user).takeUnretainedValue().queryMemo
    }

    private static func row(_ value: OpaquePointer?) -> Int64? {
        sqlite3_value_type(value) == SQLITE_NULL ? nil : sqlite3_value_int64(value)
    }

    /// Charges a call that is about to do something, or has done it.
    ///
    /// - Returns: false if the query must stop, which SQLite has been told.
    private static func charge(_ context: OpaquePointer?, _ stepCount: Int) -> Bool {
        guard let user = sqlite3_user_data(context) else { return true }
        let connection = Unmanaged<SQLiteConnection>.fromOpaque(user).takeUnretainedValue()
        return charge(context, stepCount, to: connection)
    }

    static func charge(_ context: OpaquePointer?, _ stepCount: Int, to connection: SQLiteConnection) -> Bool {
        guard let limit = connection.workLimit, limit.charge(stepCount) else { return true }
        sqlite3_result_error_code(context, SQLITE_INTERRUPT)
        return false
    }

    /// The length of a text or blob, in bytes; a few for a number.
    static func size(_ value: OpaquePointer?) -> Int {
        switch sqlite3_value_type(value) {
        case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_value_bytes(value))
        default: 8
        }
    }

    /// Tells SQLite to copy a result: `SQLITE_TRANSIENT`, a macro that Swift does not import. SQLite compares it, and never
    /// calls it.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private typealias Function =
        @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private static func add(
        _ name: String, _ argumentCount: Int32, to connection: SQLiteConnection, isDeterministic: Bool = true,
        _ function: @escaping Function
    ) throws(StorageError) {
        // The connection is not retained: no statement of it runs once it has ended, so no function is called then.
        let result = sqlite3_create_function_v2(
            connection.handle, name, argumentCount, SQLITE_UTF8 | (isDeterministic ? SQLITE_DETERMINISTIC : 0),
            Unmanaged.passUnretained(connection).toOpaque(), function, nil, nil, nil)
        guard result == SQLITE_OK else { throw connection.error(result) }
    }

    private static func text(_ value: OpaquePointer?) -> String? {
        guard sqlite3_value_type(value) != SQLITE_NULL, let start = sqlite3_value_text(value) else { return nil }
        let count = Int(sqlite3_value_bytes(value))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The bytes of a text or of data, valid while the function runs.
    private static func bytes(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8> {
        // SQLite gives the length of what it was asked for last.
        let start = sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self)
        return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
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
