import Foundation
import Glibc
import Sluice
import TestSupport
import Testing

/// What stores make of each failure of a connection, as the table of docs/sessions.md says, through a proxy that makes
/// them.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct TroubledConnectionTests {
    private typealias Trouble = TroubledProxy.Trouble

    /// The troubles of each row of the table that a proxy can make, by the text of its first column.
    private static let rows: [(what: String, troubles: [Trouble])] = [
        (
            "the connection ends or is reset, at any moment",
            [
                .ends(.hello, isReset: false), .ends(.hello, isReset: true), .ends(.flight, isReset: false),
                .ends(.flight, isReset: true), .ends(.request, isReset: false), .ends(.request, isReset: true),
                .says(""), .says("HTTP/1.1 101 Swi"),
            ]
        ),
        ("status 408, 425, 429, or 500 and above", answers(408, 425, 429, 500, 502, 503, 504, 511)),
        ("the alert `internal_error` of TLS", [.sends(alert(80))]),
        (
            "any other status in place of 101, such as 200, 301, 403 and 404",
            answers(200, 204, 301, 302, 307, 400, 403, 404, 410, 421, 426)
        ),
        (
            "an answer that is no TLS, no HTTP or no WebSocket",
            [
                .sends([UInt8](repeating: 0xEE, count: 600)), .sends(Array("HTTP/1.1 302 Found\r\n\r\n".utf8)),
                .sends([22, 3, 3, 0, 4, 99, 0, 0, 0]), .says("SSH-2.0-OpenSSH_9.2\r\n"),
                .says("HTTP/1.1 twohundred\r\n\r\n"),
                .says(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"),
            ]
        ),
        ("status 401 or 407: a gateway wants credentials", [.answers(401), .answers(407)]),
        ("the certificate is not accepted", [.impersonates]),
        (
            "no version or cipher of TLS in common",
            [.sends(alert(40)), .sends(alert(70)), .sends(alert(71))]
        ),
    ]

    private static func answers(_ statuses: Int...) -> [Trouble] { statuses.map { .answers($0) } }

    /// A fatal alert of TLS (RFC 8446, section 6).
    private static func alert(_ number: UInt8) -> [UInt8] { [21, 3, 3, 0, 2, 2, number] }

    /// The rows that other tests are about.
    private static let otherRows: Set<String> = [
        "nobody listens, no route, no address, no answer in time", "no version of the protocol in common",
    ]

    private enum Outcome: String {
        case triesAgain = "tries again"
        case fails
    }

    /// What the table says, by its first column: of a store that has reached its server, and of one that never has.
    private static func table() throws -> [String: (reached: Outcome, new: Outcome)] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/sessions.md")
        var table: [String: (reached: Outcome, new: Outcome)] = [:]
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, let reached = Outcome(rawValue: cells[1]), let new = Outcome(rawValue: cells[2])
            else { continue }
            table[cells[0]] = (reached, new)
        }
        return table
    }

    @Test func theTableOfThePageHasTheRowsThatAreTested() throws {
        #expect(Set(try Self.table().keys) == Set(Self.rows.map(\.what)).union(Self.otherRows))
    }

    /// Makes certificates, of which stores trust the first.
    ///
    /// - Returns: false if there is no `openssl`.
    private func makeCertificates(in folder: String) async throws -> Bool {
        for name in ["good", "stranger"] {
            let command =
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=\(name) "
                + "-keyout \(name).key -out \(name).pem -addext subjectAltName=IP:127.0.0.1"
            guard let exit = try await run("openssl", command.split(separator: " ").map(String.init), in: folder) else {
                print("skipped: there is no openssl command")
                return false
            }
            guard exit.code == 0 else { throw Failure("openssl \(command): \(exit.diagnostics)") }
        }
        return true
    }

    private func withProxy(_ body: (TroubledProxy, String) async throws -> Void) async throws {
        try await withFolder { folder in
            guard try await makeCertificates(in: folder) else { return }
            let options = ["--tls-certificate=\(folder)/good.pem", "--tls-key=\(folder)/good.key"]
            try await withServer(folder: folder + "/data", options: options) { server in
                guard let proxy = try await TroubledProxy.start(before: server.port, folder: folder) else { return }
                defer { proxy.process.signal(SIGKILL) }
                try await body(proxy, folder)
            }
        }
    }

    private func open(_ proxy: TroubledProxy, _ folder: String) async throws -> Store {
        var sync = SyncConfiguration(url: proxy.url)
        sync.trust = .authorities(files: [folder + "/good.pem"])
        sync.reconnectDelay = .milliseconds(10)
        sync.reconnectDelayMax = .milliseconds(100)
        return try await Store.open(StoreConfiguration(schema: try Fixture.schema(), sync: sync))
    }

    private func hasFailed(_ session: StoreSession) -> Bool { if case .failed = session.state { true } else { false } }

    /// Lets a store meet a trouble, and says what it makes of it.
    private func outcome(_ store: Store, _ trouble: Trouble, _ proxy: TroubledProxy) async throws -> Outcome {
        let session = try #require(store.session)
        // The store is connecting at this moment, so what it does next is about the trouble.
        try await proxy.served(trouble)
        try await wait(for: "the end of the attempt, after \(trouble)") {
            hasFailed(session) || session.activity == .offline
        }
        try await proxy.set(nil)
        try await wait(for: "the end of \(trouble)") { hasFailed(session) || session.connection == .connected }
        return hasFailed(session) ? .fails : .triesAgain
    }

    @Test func aStoreThatHasReachedItsServerDoesAsTheTableSays() async throws {
        let table = try Self.table()
        try await withProxy { proxy, folder in
            var store = try await open(proxy, folder)
            var number = 0
            for (what, troubles) in Self.rows {
                for trouble in troubles {
                    try await proxy.set(nil)
                    if let session = store.session, hasFailed(session) {
                        await store.close()
                        store = try await open(proxy, folder)
                    }
                    try await store.connected(timeout: waitMax)
                    try await proxy.set(trouble)
                    #expect(try await outcome(store, trouble, proxy) == table[what]?.reached, "\(what): \(trouble)")
                    guard let session = store.session, !hasFailed(session) else { continue }
                    number += 1
                    try await store.addPlane("N\(number)")
                }
            }
            await store.close()
        }
    }

    @Test func aStoreThatNeverReachedItsServerDoesAsTheTableSays() async throws {
        let table = try Self.table()
        try await withProxy { proxy, folder in
            for (what, troubles) in Self.rows {
                for trouble in troubles {
                    try await proxy.set(trouble)
                    let store = try await open(proxy, folder)
                    #expect(try await outcome(store, trouble, proxy) == table[what]?.new, "\(what): \(trouble)")
                    await store.close()
                }
            }
        }
    }

    @Test func aStoreWhoseFileWasSyncedBeforeHasReachedItsServer() async throws {
        try await withProxy { proxy, folder in
            var sync = SyncConfiguration(url: proxy.url)
            sync.trust = .authorities(files: [folder + "/good.pem"])
            sync.reconnectDelay = .milliseconds(10)
            sync.reconnectDelayMax = .milliseconds(100)
            let configuration = StoreConfiguration(
                path: folder + "/planes.sluice", schema: try Fixture.schema(), sync: sync)
            let first = try await Store.open(configuration)
            try await first.connected(timeout: waitMax)
            await first.close()
            let portal = Trouble.answers(302)
            try await proxy.set(portal)
            let store = try await Store.open(configuration)
            #expect(try await outcome(store, portal, proxy) == .triesAgain)
            await store.close()
        }
    }

    @Test func aWatcherSurvivesOneConnectionThatEndsBeforeTLSIsAnswered() async throws {
        try await withProxy { proxy, folder in
            let authority = "--ca-file=\(folder)/good.pem"
            let file = folder + "/planes.csv"
            try "tail,seats\nN1,5\n".write(toFile: file, atomically: true, encoding: .utf8)
            let imported = try await Tool.run("import", proxy.url, "Plane", file, "--key=tail", authority)
            #expect(imported.code == 0, "\(imported.diagnostics)")
            let watcher = try ChildProcess(
                Tool.path, ["query", proxy.url, "Plane", "--watch", "--format=jsonl", authority], input: nil)
            defer { watcher.signal(SIGKILL) }
            try await watcher.line(with: "\"state\":\"complete\"")
            let end = Trouble.ends(.hello, isReset: false)
            try await proxy.set(end)
            try await proxy.served(end)
            try await proxy.set(nil)
            try await watcher.line(.diagnostics, with: "connected again")
            let insert = #"{"op":"insert","class":"Plane","key":"N2","set":{"seats":6}}"# + "\n"
            #expect(try await Tool.run("write", proxy.url, authority, input: insert).code == 0)
            try await watcher.line(with: "\"N2\"")
        }
    }
}
