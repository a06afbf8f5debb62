import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// A server with many databases and a low limit of open files.
@Suite(.serialized)
struct DescriptorTests {
    private static let limit = 160

    @Test func moreDatabasesThanDescriptorsAllowAreServedInTurnAndTheRestIsToldWhy() async throws {
        try await withServer(descriptorCountMax: Self.limit) { server in
            // Each database takes five descriptors, so most databases must be closed to make room.
            for number in 0..<100 {
                try await Fixture.withStore(server.url("db\(number)")) { try await $0.addPlane("N\(number)") }
            }
            for number in [0, 50, 99] {
                try await Fixture.withStore(server.url("db\(number)")) { store in
                    let planes = try await store.found("Plane")
                    #expect(planes.count == 1, "db\(number)")
                }
            }
            // Open sessions keep their databases open.
            let peer = try RawPeer(server.port)
            try peer.open("db0", schema: Fixture.schema())
            var failure: ServerMessage.Failure?
            for session in 2...60 as ClosedRange<UInt64> where failure == nil {
                peer.send(.open(.init(session: session, path: "db\(session)", schema: try Fixture.schema())))
                failure = try peer.receive { message -> ServerMessage.Failure?? in
                    switch message {
                    case .opened: .some(nil)
                    case .error(let failure): failure
                    default: nil
                    }
                }
            }
            let told = try #require(failure)
            #expect(told.action == .retry && told.message.contains("as many files open as its system allows"))
            #expect(server.process.diagnostics.contains("\(Self.limit) file descriptors"))
            // The open sessions go on, and one that ends makes room.
            peer.endWriting()
            _ = peer.receiveToEnd()
            try await server.expectService("db77")
        }
    }
}
