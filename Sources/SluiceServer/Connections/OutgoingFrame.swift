internal import SluiceTransport
internal import SluiceWire

/// A frame on its way to one connection or to many: as it is, or in the JSON form, each made once for all that are told
/// the same. One thread uses it.
final class OutgoingFrame {
    private let bytes: [UInt8]
    /// The frame as it is.
    private(set) lazy var buffer = SharedBuffer(bytes)
    /// The frame's messages; none if it cannot be read, which a frame made here can.
    private(set) lazy var messages: [ServerMessage] = (try? Frame.decode(bytes)) ?? []
    private var texts: [[JSONPiece]: [SharedBuffer]] = [:]
    private lazy var commit = JSONCommonCommit(messages)
    /// What the last connection was sent that the commit tells nothing of its own.
    private var told: (audiences: [JSONSubscription.Audience?], texts: [SharedBuffer])?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The length in bytes, as it is.
    var byteCount: Int { bytes.count }

    /// What a connection in the JSON form is told of commits that concern it as they concern many: text messages.
    ///
    /// - Returns: nil for other frames, and where the client has made a part: they are translated for each connection.
    func commonTexts(_ session: inout JSONSession) -> [SharedBuffer]? {
        guard let commit else { return nil }
        if let told, commit.tells(session, like: told.audiences) {
            commit.note(in: &session)
            return told.texts
        }
        guard let audiences = commit.audiences(in: session) else { return nil }
        let texts = texts(of: session.translate(messages), session)
        told = (audiences, texts)
        return texts
    }

    /// What a connection in the JSON form is told, as text messages.
    func texts(of translation: JSONSession.Translation, _ session: JSONSession) -> [SharedBuffer] {
        // Where a frame ends what others began, the pieces speak of more than this frame.
        let isAlone = translation.messages.count == messages.count
        if isAlone, let known = texts[translation.pieces] { return known }
        let writer = JSONRowWriter(schema: session.schema, messages: translation.messages)
        let made = translation.pieces.map { piece in
            switch piece {
            case .text(let text): SharedBuffer(text: text)
            case .change(let change): SharedBuffer(text: writer.text(of: change))
            }
        }
        if isAlone { texts[translation.pieces] = made }
        return made
    }
}
