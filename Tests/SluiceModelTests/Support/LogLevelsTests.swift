import SluiceModel
import Synchronization
import Testing

struct LogLevelsTests {
    private final class Lines: LogReceiver {
        let messages = Mutex<[String]>([])

        func receive(_ line: LogLine) { messages.withLock { $0.append(line.message) } }

        func taken() -> [String] {
            messages.withLock { messages in
                defer { messages = [] }
                return messages
            }
        }
    }

    /// Both ways of saying levels write the same, for every level and domain.
    @Test func levelsThatChangeAreHeededAtOnceByEachDomain() {
        let levels = LogLevels(.error)
        let lines = Lines()
        let sink = LogSink(levels: levels) { lines.receive($0) }
        let choices: [LogLevel??] = [nil, .some(nil)] + LogLevel.allCases.map { .some($0) }
        for base in LogLevel.allCases {
            for (number, choice) in choices.enumerated() {
                var domains: [LogDomain: LogLevel?] = [:]
                for (place, domain) in LogDomain.all.enumerated() where place % 2 == number % 2 {
                    if let choice { domains.updateValue(choice, forKey: domain) }
                }
                levels.set(base, domains: domains)
                #expect(levels.level == base)
                #expect(levels.domains == domains)
                let fixed = LogSink(level: base, domains: domains, to: lines)
                for domain in LogDomain.all {
                    for level in LogLevel.allCases {
                        sink.about(domain)(level, "x")
                        let written = lines.taken()
                        fixed.about(domain)(level, "x")
                        #expect(written == lines.taken(), "\(base) \(domains) \(domain) \(level)")
                    }
                }
            }
        }
    }
}
