import Synchronization
import Testing

@testable import SluiceCLI

struct ConnectionReporterTests {
    @Test func aLostConnectionIsReportedOnceAndSoIsItsReturn() {
        let lines = Mutex<[String]>([])
        let reporter = ConnectionReporter { line in lines.withLock { $0.append(line) } }
        for problem in [nil, "closed", "refused", "refused", nil, nil, "reset", nil] as [String?] {
            reporter.note(problem: problem)
        }
        #expect(
            lines.withLock { $0 } == [
                "connection lost: closed; trying again", "connected again", "connection lost: reset; trying again",
                "connected again",
            ])
    }
}
