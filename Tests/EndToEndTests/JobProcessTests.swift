import Foundation
import Glibc
import SluiceModel
import TestSupport
import Testing

/// Runs the examples of docs/jobs.md as processes that are killed.
@Suite(.timeLimit(.minutes(10))) struct JobProcessTests {
    private static func program(_ name: String) -> String {
        URL(fileURLWithPath: Tool.path).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// The week of flights that the departure board shows.
    private static let flights = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Playground/DepartureBoard/Data/flights.csv").path

    /// What the report says of each day, counted plainly.
    private func plainReport(of path: String = flights) throws -> [String] {
        var days: [String: (flights: Set<String>, late: Int, cancelled: Int)] = [:]
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst() {
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            let day = String(fields[0].prefix(10))
            guard days[day, default: ([], 0, 0)].flights.insert("\(fields[0]) \(fields[1]) \(fields[2])").inserted
            else {
                continue
            }
            if fields[6].isEmpty { days[day]?.cancelled += 1 }
            if (Int(fields[6]) ?? 0) >= 60 { days[day]?.late += 1 }
        }
        return days.sorted { $0.key < $1.key }.map { day, counts in
            "\(day): \(counts.flights.count) flights, \(counts.late) late, \(counts.cancelled) cancelled"
        }
    }

    @Test func aReportThatIsKilledAgainAndAgainCountsEachFlightOnce() async throws {
        try await withFolder { folder in
            var generator = SeededGenerator(seed: 31)
            let arguments = [folder + "/data", Self.flights]
            // The first one says how far it is, so some are killed while they count.
            for _ in 0..<6 {
                let report = try ChildProcess(Self.program("DailyReport"), arguments)
                try await Task.sleep(for: .milliseconds(Int.random(in: 200...2_500, using: &generator)))
                report.signal(SIGKILL)
                _ = try await report.finish()
            }
            let end = try await ChildProcess(Self.program("DailyReport"), arguments).finish()
            try #require(end.code == 0, "\(end.diagnostics)")
            #expect(end.lines.dropFirst() == (try plainReport())[...])
            let again = try await ChildProcess(Self.program("DailyReport"), arguments).finish()
            #expect(again.lines.first == "0 flights were new, different or gone")
            #expect(again.lines.dropFirst() == end.lines.dropFirst())

            // One has changed and one is gone.
            let text = try String(contentsOfFile: Self.flights, encoding: .utf8)
            var lines = text.split(separator: "\n").map(String.init)
            let late = try #require(lines.firstIndex { $0.hasSuffix(",-6") })
            lines[late] = String(lines[late].dropLast(2)) + "600"
            lines.remove(at: late + 7)
            let changed = folder + "/changed.csv"
            try lines.joined(separator: "\n").write(toFile: changed, atomically: true, encoding: .utf8)
            let next = try await ChildProcess(Self.program("DailyReport"), [folder + "/data", changed]).finish()
            #expect(next.lines.first == "2 flights were new, different or gone", "\(next.diagnostics)")
            #expect(next.lines.dropFirst() == (try plainReport(of: changed))[...])
        }
    }

    @Test func aMailerThatIsKilledAgainAndAgainMarksEachMailOnce() async throws {
        try await withFolder { folder in
            var generator = SeededGenerator(seed: 32)
            let mails = (1...200).map { number in
                let address = number == 13 ? "nobody" : "user\(number)@example.com"
                return
                    #"{"op":"upsert","class":"Mail","key":\#(number),"set":{"address":"\#(address)","text":"hello"}}"#
            }
            var sent: Set<String> = []
            var attempts = 0
            for round in 0..<5 {
                let mailer = try ChildProcess(Self.program("Mailer"), [folder + "/data", "0"])
                let port = try await mailer.line(with: "serving at port").split(separator: " ").last ?? ""
                let url = "ws://127.0.0.1:\(port)/shop"
                if round == 0 {
                    let exit = try await Tool.run("write", url, input: mails.joined(separator: "\n") + "\n")
                    try #require(exit.code == 0, "\(exit.diagnostics)")
                }
                if round == 4 {
                    try await wait(for: "all mails but one") {
                        try await Tool.run("query", url, "Mail WHERE isSent == true", "--format=jsonl").lines.count
                            == 199
                    }
                    mailer.signal(SIGTERM)
                } else {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 50...600, using: &generator)))
                    mailer.signal(SIGKILL)
                }
                let end = try await mailer.finish()
                // A mailer sends as soon as it can, perhaps before it says at which port it serves.
                for line in end.allLines where line.hasPrefix("sent ") {
                    attempts += 1
                    sent.insert(line)
                }
                if round == 4 { #expect(end.code == 0, "\(end.diagnostics)") }
            }
            // Each mail went out; those that a kill interrupted went out again, under the same id.
            #expect(sent.count == 199)
            #expect(199...199 + 4 * 4 ~= attempts)
        }
    }

    /// `SLUICE_JOB_KILLS` and `SLUICE_JOB_ROWS` say how often and over how many rows; at full size the program is run by
    /// itself, see Tests/JobKills.
    @Test func whatJobsDeriveIsRightWhereverTheyAndTheirServerAreKilled() async throws {
        let environment = ProcessInfo.processInfo.environment
        let (kills, rows) = (environment["SLUICE_JOB_KILLS"] ?? "12", environment["SLUICE_JOB_ROWS"] ?? "3000")
        let process = try ChildProcess(Self.program("JobKills"), [kills, rows, "7"])
        while process.isRunning { try await Task.sleep(for: .milliseconds(100)) }
        let end = try await process.finish()
        #expect(end.code == 0, "\(end.lines.suffix(5)) \(end.diagnostics)")
        #expect(end.lines.contains { $0.contains("outer: ") && $0.contains("rows as they should be") })
        #expect(end.lines.contains { $0.contains("inner: ") && $0.contains("rows as they should be") })
    }
}
