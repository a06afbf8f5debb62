internal import SluiceModel
internal import SluiceWire

extension AuditNotes {
    /// Notes what was rejected of a group: by session, code and class.
    ///
    /// - Parameter userID: the user of a session; nil if the session is not open or has none.
    func note(_ rejections: [CommittedGroup.Rejection], of schema: Schema, userID: (SessionID) -> String?) {
        struct Kind: Hashable {
            let session: SessionID
            let code: ErrorCode
            let classIndex: Int?
        }
        var counts: [Kind: Int] = [:]
        for rejection in rejections where rejection.session != .server {
            for reason in rejection.rejection.reasons {
                let kind = Kind(
                    session: rejection.session, code: reason.code, classIndex: reason.object?.classIndex)
                counts[kind, default: 0] += reason.object == nil ? 0 : 1
            }
        }
        for (kind, count) in counts {
            let classes = schema.classes
            let className = kind.classIndex.flatMap { classes.indices.contains($0) ? classes[$0].name : nil }
            note(
                .writesRejected(code: kind.code.rawValue, className: className, keyCount: count), in: kind.session,
                user: userID(kind.session), .refused, because: "the server rejected the transaction")
        }
    }
}
