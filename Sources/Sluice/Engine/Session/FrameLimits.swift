internal import SluiceModel
internal import SluiceWire

/// The limits of what this store sends: its own, and those of the server that it is connected to.
struct FrameLimits {
    /// The server's limits; before its hello, those that every server accepts.
    var server = ServerLimits()
    private let options: ClientOptions

    init(_ options: ClientOptions) { self.options = options }

    /// The most bytes of a frame that the server accepts, before compression too.
    private var frameLengthMax: Int { Int(clamping: min(server.frameLengthMax, server.expandedLengthMax)) }

    /// The approximate maximum of bytes in a frame that several transactions share.
    var uploadByteCountMax: Int { min(options.uploadByteCountMax, frameLengthMax / 2) }

    /// The maximum number of members in one message of a list.
    var listedMemberCountMax: Int { max(1, min(options.listedMemberCountMax, frameLengthMax / 256)) }

    /// The limits of a transaction: those of every server, or of the one that this store is connected to if it accepts
    /// less.
    var transaction: DataLimits {
        var limits = options.dataLimits
        limits.transactionByteCount = min(limits.transactionByteCount, frameLengthMax / 4 * 3)
        limits.operationCount = min(limits.operationCount, Int(clamping: server.operationCountMax))
        return limits
    }

    /// A frame that the server accepts.
    func frame(of messages: [ClientMessage]) -> Result<[UInt8], SyncError> {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        return checked(frame)
    }

    /// A frame with an upload of encoded changesets that the server accepts.
    func frame(uploading changesets: [[UInt8]], session: UInt64) -> Result<[UInt8], SyncError> {
        var frame = FrameBuilder()
        frame.appendUpload(session: session, changesets)
        return checked(frame)
    }

    private func checked(_ frame: consuming FrameBuilder) -> Result<[UInt8], SyncError> {
        let size = frame.size
        let bytes = frame.finish()
        guard bytes.count <= server.frameLengthMax, size <= server.expandedLengthMax else {
            return .failure(
                SyncError(
                    .limitExceeded,
                    "\(bytes.count) bytes (\(size) expanded) have to be sent in one piece, and the server accepts "
                        + "\(server.frameLengthMax) (\(server.expandedLengthMax))"))
        }
        return .success(bytes)
    }
}
