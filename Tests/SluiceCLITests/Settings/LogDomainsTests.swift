import Foundation
import SluiceModel
import Testing

@testable import SluiceCLI

/// `--log-domains`, log lines, and the file of metrics.
@Suite struct LogDomainsTests {
    @Test func domainsHaveLevelsOfTheirOwn() throws {
        let domains = try LogDomains.parse("network=warning,login=off")
        #expect(domains == [.network: .warning, .login: nil])
        #expect(try LogDomains.parse("").isEmpty)
    }

    @Test(arguments: [
        (
            "net=warning",
            "--log-domains: 'net' is no domain; the domains are store, sync, network, login, database"
        ),
        ("network", "--log-domains is DOMAIN=LEVEL,…, such as network=warning,login=off, and 'network' is not"),
        (
            "network=loud",
            "--log-domains: 'loud' is no level; the levels are off, verbose, debug, info, warning, error"
        ),
    ]) func whatIsWrongIsSaid(text: String, message: String) {
        let error = #expect(throws: CommandError.self) { try LogDomains.parse(text) }
        #expect(error?.message == message)
    }

    @Test func aLineShowsItsDomain() {
        let line = LogLine(.info, .network, "connected", [("peer", "x")])
        let time = Timestamp(microseconds: 0)
        #expect(LogPrinter.line(line, at: time, .text).hasSuffix(" info network: connected peer=x\n"))
        #expect(
            LogPrinter.line(line, at: time, .json).contains(
                #""level":"info","domain":"network","message":"connected","peer":"x""#))
    }

    @Test func theFileOfMetricsIsReplacedAsAWhole() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/sluice-metrics-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let metrics = MetricsText()
        let file = MetricsFile(path: path, log: nil) { metrics.text }
        await file.write()
        metrics.count("n", "Help.")
        await file.write()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == metrics.text)
        let lines = Lines()
        let log = LogSink(level: .info) { lines.add($0) }
        await MetricsFile(path: "/nowhere/file", log: log) { metrics.text }.write()
        #expect(lines.count == 1)
    }

    private final class Lines: @unchecked Sendable {
        private let lock = NSLock()
        private var all: [LogLine] = []
        func add(_ line: LogLine) { lock.withLock { all.append(line) } }
        var count: Int { lock.withLock { all.count } }
    }
}
