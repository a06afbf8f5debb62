import Foundation
import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// A database is made or opened while the server may open no more files, at each of the steps that need one. Nothing is
/// left of it, and the next try succeeds.
@Suite(.serialized)
struct MakingFaultTests {
    /// The limit under which the server may open a number of files more.
    ///
    /// The limit is one of the descriptors' numbers, so unused numbers below those in use count too. For no file at all
    /// it is below every number in use, since a file that the server closes meanwhile would make room for another.
    private static func limit(_ count: Int, _ server: ServerProcess) throws -> Int {
        guard count > 0 else { return 3 }
        let folder = "/proc/\(server.process.processID)/fd"
        let used = Set(try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { Int($0) })
        return (0..<4_096).lazy.filter { !used.contains($0) }.prefix(count).max()! + 1
    }

    /// Lets the server open a number of files more, or as many as it likes.
    private static func allow(_ count: Int?, _ server: ServerProcess) throws {
        let most = try count.map { try limit($0, server) } ?? 4_096
        let options = ["--pid=\(server.process.processID)", "--nofile=\(most):4096"]
        guard try runBlocking("/usr/bin/prlimit", options) == 0 else {
            throw Failure("the limit of files cannot be set")
        }
    }

    /// Opens a database with a schema while the server may open some files more.
    ///
    /// On a busy machine the server may close a connection that does not log in in time: then there is another try.
    ///
    /// - Returns: the connection, and why the session was refused; nil if it was opened.
    private static func open(
        _ database: String, allowing count: Int?, _ server: ServerProcess
    ) throws -> (peer: RawPeer, failure: ServerMessage.Failure?) {
        for _ in 0..<20 {
            do { return try openOnce(database, allowing: count, server) } catch let closed as RawPeer.Closed {
                guard closed.code == 1_013 else { throw closed }
            }
        }
        throw Failure("no session was opened in time")
    }

    private static func openOnce(
        _ database: String, allowing count: Int?, _ server: ServerProcess
    ) throws -> (peer: RawPeer, failure: ServerMessage.Failure?) {
        let peer = try RawPeer(server.port)
        try peer.upgrade()
        peer.send(.hello(.init(features: .all, agent: "test")))
        _ = try peer.receive { if case .hello = $0 { true } else { nil } }
        try allow(count, server)
        defer { try? allow(nil, server) }
        peer.send(.open(.init(session: 1, path: database, schema: try Fixture.schema())))
        let failure = try peer.receive { message -> ServerMessage.Failure?? in
            switch message {
            case .opened: .some(nil)
            case .error(let failure): failure
            default: nil
            }
        }
        return (peer, failure)
    }

    /// How many planes a session receives.
    private static func planeCount(_ peer: RawPeer) throws -> Int {
        peer.send(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Plane")))
        var count = 0
        return try peer.receive { message -> Int? in
            if case .page(let page) = message {
                count += page.content.objects.groups.reduce(0) { $0 + $1.keys.count }
            }
            if case .complete = message { return count }
            return nil
        }
    }

    @Test func aDatabaseThatCouldNotBeMadeAtAnyStepLeavesNothingAndIsMadeTheNextTime() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder, descriptorCountMax: 4_096) { server in
                try await blocking {
                    var failureCount = 0
                    // Open sessions keep their databases open, so that no room is made.
                    var peers: [RawPeer] = []
                    for count in 0..<12 {
                        let name = "made-\(count)"
                        if let failure = try Self.open(name, allowing: count, server).failure {
                            failureCount += 1
                            #expect(failure.action == .retry, "\(count): \(failure.message)")
                            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                            let left = files.filter { $0.hasPrefix(name + ".") && !$0.hasSuffix("-lock") }
                            #expect(left == [], "with \(count) files")
                        }
                        let (peer, again) = try Self.open(name, allowing: nil, server)
                        #expect(again == nil, "with \(count) files, and then with more: \(again?.message ?? "")")
                        peers.append(peer)
                    }
                    #expect(failureCount >= 3, "only \(failureCount) steps failed")
                }
            }
        }
    }

    @Test func aDatabaseThatCouldNotBeOpenedAtAnyStepIsOpenedTheNextTimeWithAllItHas() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                for count in 0..<12 {
                    try await Fixture.withStore(server.url("kept-\(count)")) { try await $0.addPlane("N\(count)") }
                }
            }
            try await withServer(folder: folder, descriptorCountMax: 4_096) { server in
                try await blocking {
                    var failureCount = 0
                    var peers: [RawPeer] = []
                    for count in 0..<12 {
                        let name = "kept-\(count)"
                        if let failure = try Self.open(name, allowing: count, server).failure {
                            failureCount += 1
                            #expect(failure.action == .retry, "\(count): \(failure.message)")
                        }
                        let (peer, again) = try Self.open(name, allowing: nil, server)
                        #expect(again == nil, "with \(count) files, and then with more: \(again?.message ?? "")")
                        #expect(try Self.planeCount(peer) == 1, "\(name)")
                        peers.append(peer)
                    }
                    #expect(failureCount >= 1, "only \(failureCount) steps failed")
                }
            }
        }
    }
}
