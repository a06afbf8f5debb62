#if PostgreSQL

internal import CPQ

/// The rows that PostgreSQL has answered, in binary.
package final class PostgresResult {
    private let handle: OpaquePointer

    /// Takes over a result of libpq.
    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var status: ExecStatusType { PQresultStatus(handle) }

    /// How many rows there are.
    package var rowCount: Int { Int(PQntuples(handle)) }

    /// How many rows the statement has written.
    package var affectedCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// What was done, such as `COMMIT`; a COMMIT of what has failed says `ROLLBACK`.
    var command: String { String(cString: PQcmdStatus(handle)) }

    func isNull(_ column: Int, row: Int = 0) -> Bool { PQgetisnull(handle, Int32(row), Int32(column)) == 1 }

    /// An integer of 2, 4 or 8 bytes, or a boolean as 0 or 1.
    package func integer(_ column: Int, row: Int = 0) -> Int64 {
        let bytes = buffer(column, row)
        let unused = 64 - 8 * bytes.count
        return Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << UInt64(unused)) >> Int64(unused)
    }

    func flag(_ column: Int, row: Int = 0) -> Bool { integer(column, row: row) != 0 }

    func bytes(_ column: Int, row: Int = 0) -> [UInt8] { Array(buffer(column, row)) }

    /// The bytes of a value as UTF-8.
    package func text(_ column: Int, row: Int = 0) -> String { String(decoding: buffer(column, row), as: UTF8.self) }

    /// The bytes of a value, as long as the result is there.
    private func buffer(_ column: Int, _ row: Int) -> UnsafeBufferPointer<UInt8> {
        let length = Int(PQgetlength(handle, Int32(row), Int32(column)))
        return PQgetvalue(handle, Int32(row), Int32(column)).withMemoryRebound(to: UInt8.self, capacity: length) {
            UnsafeBufferPointer(start: $0, count: length)
        }
    }

    /// What went wrong; nil if nothing did.
    func failure(_ address: PostgresAddress) -> PostgresFailure? {
        switch status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY: return nil
        default: break
        }
        func field(_ code: Character) -> String? {
            PQresultErrorField(handle, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
        }
        guard let state = field("C"), let severity = field("V") else {
            return .lost(address.redacted(String(cString: PQresultErrorMessage(handle))))
        }
        let message = address.redacted(field("M") ?? "no message")
        return severity == "ERROR"
            ? .refused(state: state, message) : .lost("\(message) (SQLSTATE \(state))", state: state)
    }
}

#endif
