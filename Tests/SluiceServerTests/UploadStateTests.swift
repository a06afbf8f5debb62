import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

/// Each transition of the table of ``ServerSession/Uploads``.
@Suite struct UploadStateTests {
    private static let transitions: [(from: ServerSession.Uploads, to: [ServerSession.Uploads])] = [
        (.accepted, [.heldBack, .refused]), (.heldBack, [.refused]), (.refused, []),
    ]

    @Test func theTableHasTheseTransitionsAndNoOthers() {
        #expect(Self.transitions.count == ServerSession.Uploads.allCases.count)
        for (from, allowed) in Self.transitions {
            for to in ServerSession.Uploads.allCases {
                #expect(from.mayBecome(to) == allowed.contains(to), "\(from) to \(to)")
            }
        }
    }

    @Test func aSessionBeginsWithItsUploadsAcceptedAndGoesOnByTheTable() {
        let session = ServerSession(
            id: SessionID(connection: 1, session: 1), user: User(id: nil, mayExtendSchema: true), isReadOnly: false,
            clientID: 1,
            isShortLived: false, unconfirmedNonce: nil, receivedSequence: 0)
        #expect(session.uploads == .accepted)
        session.become(.heldBack)
        #expect(session.uploads == .heldBack)
        session.become(.refused)
        #expect(session.uploads == .refused)
    }
}
