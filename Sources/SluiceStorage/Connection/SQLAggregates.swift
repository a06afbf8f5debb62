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

    static func install(on connection: SQLiteConnection) throws(StorageError) {
        for (index, aggregate) in TableLayout.Function.aggregates.enumerated() {
            let result = sqlite3_create_function_v2(
                connection.handle, TableLayout.Function.name(of: aggregate.operation, aggregate.type), 1,
                SQLITE_UTF8 | SQLITE_DETERMINISTIC, UnsafeMutableRawPointer(bitPattern: index + 1), nil,
                { context, _, arguments in SQLAggregates.step(context, arguments) }, { SQLAggregates.finish($0) }, nil)
            guard result == SQLITE_OK else { throw connection.error(result) }
        }
    }

    /// An empty aggregation of the function that is called: its number from 1 stands where a pointer would.
    private static func aggregation(_ context: OpaquePointer?) -> Aggregation {
        let (operation, type) = TableLayout.Function.aggregates[Int(bitPattern: sqlite3_user_data(context)) - 1]
        return Aggregation(operation, of: type)
    }

    private static func step(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
        guard let arguments,
            let memory = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size))
        else { return sqlite3_result_error_nomem(context) }
        let slot = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let state: State
        if let known = slot.pointee {
            state = Unmanaged<State>.fromOpaque(known).takeUnretainedValue()
        } else {
            state = State(aggregation(context))
            slot.pointee = Unmanaged.passRetained(state).toOpaque()
        }
        let (_, type) = TableLayout.Function.aggregates[Int(bitPattern: sqlite3_user_data(context)) - 1]
        state.aggregation.add(SQLFunctions.binding(arguments[0]).value(of: type) ?? .null)
    }

    /// SQLite calls this for every aggregate, also for one that is given up, so that no state is left behind.
    private static func finish(_ context: OpaquePointer?) {
        let memory = sqlite3_aggregate_context(context, 0)
        guard let known = memory?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee else {
            return SQLFunctions.answer(context, SQLBinding(aggregation(context).result) ?? .null)
        }
        let state = Unmanaged<State>.fromOpaque(known).takeRetainedValue()
        SQLFunctions.answer(context, SQLBinding(state.aggregation.result) ?? .null)
    }
}
