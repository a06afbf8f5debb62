import Glibc
import TestSupport
import Testing

/// Connections that are opened and then send nothing.
extension HostilePeerTests {
    @Test func aThousandSilentConnectionsKeepNobodyOut() async throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur >= 4_096 else { return print("skipped: a process may have too few descriptors here") }
        try await withServer { server in
            try await blocking { [port = server.port] in
                let silent = try (0..<1_100).map { _ in try RawPeer(port) }
                // A peer that speaks is served on its first connection.
                let peer = try RawPeer(port)
                try peer.open(schema: Fixture.schema())
                #expect(try peer.settle() == nil)
                // Peers that upgrade and do not log in do not delay others either.
                let half = try (0..<50).map { _ in
                    let peer = try RawPeer(port)
                    try peer.upgrade()
                    return peer
                }
                let second = try RawPeer(port)
                try second.open(schema: Fixture.schema())
                #expect(try second.settle() == nil)
                withExtendedLifetime((silent, half)) {}
            }
            try await server.expectService()
        }
    }
}
