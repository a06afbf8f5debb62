package import SluiceModel
internal import SluiceWire

/// Where a version of a database's rules came from, as its journal has it: every replica knows it.
package struct RulesOrigin: Hashable, Sendable {
    /// What has made a server store rules.
    package enum Cause: UInt8, Sendable {
        /// The server's file had others when the database was opened.
        case file = 0
        /// The server's file was read again while the server ran.
        case reload = 1
        /// A client has deployed them.
        case client = 2
    }

    package var cause: Cause
    /// When they were stored, by the clock of the server that did it.
    package var time: Timestamp
    /// The id of the client's user; nil for nobody in particular, and for a file.
    package var userID: String?
    /// The name of the server; nil if it has none.
    package var workerID: String?

    package init(_ cause: Cause, at time: Timestamp, userID: String? = nil, workerID: String? = nil) {
        self.cause = cause
        self.time = time
        self.userID = userID
        self.workerID = workerID
    }
}

extension RulesOrigin {
    func encode(into writer: inout ByteWriter) {
        writer.byte(cause.rawValue)
        writer.zigzag(time.microseconds)
        writer.optional(userID) { $0.string($1) }
        writer.optional(workerID) { $0.string($1) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let code = try reader.byte()
        guard let cause = Cause(rawValue: code) else {
            throw WireError(.malformed, "\(code) is no cause of rules", offset: reader.offset)
        }
        self.init(
            cause, at: Timestamp(microseconds: try reader.zigzag()),
            userID: try reader.optional { reader throws(WireError) in try reader.string() },
            workerID: try reader.optional { reader throws(WireError) in try reader.string() })
    }
}
