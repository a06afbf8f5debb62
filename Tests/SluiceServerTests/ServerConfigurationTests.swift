import SluiceServer
import Testing

struct ServerConfigurationTests {
    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    func `a development server may listen at loopback addresses`(host: String) throws {
        _ = try SyncServer(ServerConfiguration(host: host, port: 0, isDevelopment: true))
    }

    @Test(arguments: [
        "127.example.org", "127.0.0.1.example.org", "0.0.0.0", "10.0.0.1", "::", "::2", "2001:db8::1", "example.org",
        "localhost.example.org", "*", "", "1.127.0.0",
    ])
    func `a development server may not listen anywhere else`(host: String) {
        let error = #expect(throws: ServerError.self) {
            try SyncServer(ServerConfiguration(host: host, port: 0, isDevelopment: true))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a server that does not know its users does not start`() {
        let error = #expect(throws: ServerError.self) { try SyncServer(ServerConfiguration(port: 0)) }
        #expect(error?.code == .invalidConfiguration)
    }
}
