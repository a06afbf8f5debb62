internal import CSQLite
internal import SluiceModel
internal import SluiceQuery

/// The aggregates that compiled queries call, see ``TableLayout/Function``.
enum SQLAggregates {
    /// What one aggregate has gathered, for as long as SQLite adds rows to it.
    private final class State {
        var aggregation: Aggregation

        init(_ aggregation: Aggregation) { self.aggregation = aggregation }
    }

    /// One of the functions, and the connection that it belongs to. SQLite owns it, and releases it with the handle. It
    /// uses the connection as a statement runs, which none does once the connection has ended.
    private final class Declared {
        let operation: AggregateOperation
        let type: ScalarType
        unowned let connection: SQLiteConnection

        init(_ operation: AggregateOperation, _ type: ScalarType, _ connection: SQLiteConnection) {
            self.operation = operation
            self.type = type
            self.connection = connection
        }

        var aggregation: Aggregation { Aggregation(operation, of: type) }
    }

    static func install(on connection: SQLiteConnection) throws(StorageError) {
        for (operation, type) in TableLayout.Function.aggregates {
            let declared = Declared(operation, type, connection)
            let result = sqlite3_create_function_v2(
                connection.handle, TableLayout.Function.name(of: operation, type), 1,
                SQLITE_UTF8 | SQLITE_DETERMINISTIC, Unmanaged.passRetained(declared).toOpaque(), nil,
                { context, _, arguments in SQLAggregates.step(context, arguments) }, { SQLAggregates.finish($0) },
                { if let user = $0 { Unmanaged<Declared>.fromOpaque(user).release() } })
            guard result == SQLITE_OK else { throw connection.error(result) }
        }
    }

    private static func declared(_ context: OpaquePointer?) -> Declared? {
        sqlite3_user_data(context).map { Unmanaged<Declared>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func step(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let arguments, let declared = declared(context),
            let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size))
        else { return sqlite3_result_error_nomem(context) }
        // Zeroed at the first row, and the same memory at all others until `finish`, which releases what is in it.
        let slot = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let state: State
        if let known = slot.pointee {
            state = Unmanaged<State>.fromOpaque(known).takeUnretainedValue()
        } else {
            state = State(declared.aggregation)
            slot.pointee = Unmanaged.passRetained(state).toOpaque()
        }
        guard SQLFunctions.charge(context, FunctionCost.numberStepCount, to: declared.connection) else { return }
        state.aggregation.add(SQLFunctions.binding(arguments[0]).value(of: declared.type) ?? .null)
    }

    /// SQLite calls this for every aggregate, also for one that is given up, so that no state is left behind.
    private static func finish(_ context: OpaquePointer?) {
        let memory = sqlite3_aggregate_context(context, 0)
        guard let known = memory?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee else {
            let none = declared(context).flatMap { SQLBinding($0.aggregation.result) }
            return SQLFunctions.answer(context, none ?? .null)
        }
        let state = Unmanaged<State>.fromOpaque(known).takeRetainedValue()
        SQLFunctions.answer(context, SQLBinding(state.aggregation.result) ?? .null)
    }
}
