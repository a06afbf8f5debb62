import Foundation
import Glibc
import SluiceModel
import Synchronization
import TestSupport
import Testing

@testable import SluiceCLI

/// Programs of `sluice run`: what comes of what they print, and of the processes that they leave behind.
struct WorkerProgramTests {
    /// Collects what a program prints.
    private final class Printed: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func take(_ more: ArraySlice<UInt8>) -> Bool {
            bytes.withLock { $0 += more }
            return true
        }

        var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
    }

    private func program(_ script: String, grace: Duration) throws -> WorkerProgram {
        try WorkerProgram(["sh", "-c", script], outputGrace: grace)
    }

    /// Whether there is a process that has not ended.
    private func isRunning(_ id: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
        return text.split(separator: ")").last?.drop { $0 == " " }.first.map { !"ZX".contains($0) } ?? false
    }

    @Test func `a child process that keeps the output open is not waited for`() async throws {
        let printed = Printed()
        let exit = try await program("sleep 600 & echo $!", grace: .zero)
            .run([], environment: [], guardedBy: nil, printed.take)
        #expect(exit.code == 0 && exit.isOutputHeld)
        // What was printed before the end has come, and what is left of the program is ended.
        let id = try #require(Int32(printed.text.dropLast()))
        try await wait(for: "the end of the child process") { !isRunning(id) }
    }

    @Test func `a child process that is told to end and does not is killed`() async throws {
        let printed = Printed()
        let running = try program(
            "(trap '' TERM; echo; exec sleep 600) & trap 'exit 9' TERM; echo $!; wait", grace: .zero)
        let task = Task { try await running.run([], environment: [], guardedBy: nil, printed.take) }
        try await wait(for: "what they print") { printed.text.filter { $0 == "\n" }.count == 2 }
        task.cancel()
        let exit = try await task.value
        #expect(exit.code == 9 && exit.isOutputHeld)
        let id = try #require(Int32(printed.text.filter(\.isNumber)))
        try await wait(for: "the end of the child process") { !isRunning(id) }
    }

    @Test func `a child process that closes the output in time is heard`() async throws {
        try await withFolder { folder in
            let gate = "\(folder)/gate"
            #expect(mkfifo(gate, 0o600) == 0)
            let printed = Printed()
            let running = try program("echo first; (read line < \(gate); echo $line) &", grace: .seconds(3_600))
            async let exit = running.run([], environment: [], guardedBy: nil, printed.take)
            // Opens when the child process reads.
            try await blocking { try "second\n".write(toFile: gate, atomically: false, encoding: .utf8) }
            let ended = try await exit
            #expect(ended.code == 0 && !ended.isOutputHeld)
            #expect(printed.text == "first\nsecond\n")
        }
    }

    @Test func `input that nobody reads any more is let go`() async throws {
        let printed = Printed()
        let input = [UInt8](repeating: 0x20, count: 4 << 20)
        let exit = try await program("exec 3<&0; sleep 600 <&3 & exit 3", grace: .zero)
            .run(input, environment: [], guardedBy: nil, printed.take)
        #expect(exit.code == 3 && exit.isOutputHeld)
    }

    @Test func `a program that closes its output goes on to read`() async throws {
        let input = [UInt8](repeating: 0x0A, count: 1 << 20)
        try await withFolder { folder in
            let exit = try await program("exec > /dev/null; wc -c > \(folder)/count; exit 4", grace: .zero)
                .run(input, environment: [("SLUICE_JOB", "job")], guardedBy: nil) { _ in true }
            #expect(exit.code == 4 && !exit.isOutputHeld)
            #expect(
                try String(contentsOfFile: "\(folder)/count", encoding: .utf8)
                    .contains("\(input.count)"))
        }
    }

    @Test func `a program that prints without end is ended`() async throws {
        let output = ProgramOutput(limits: Self.limits) { Self.schema }
        let running = try program(#"exec yes '{"op":"delete","class":"Mail","key":1}'"#, grace: .seconds(3_600))
        let exit = try await running.run([], environment: [], guardedBy: nil, output.take)
        #expect(exit.code == 128 + SIGTERM && !exit.isOutputHeld)
        #expect { try JobPrograms.lines(output, exit, givenCount: 100) } throws: {
            "\($0)".contains("one transaction has at most 5 operations") && "\($0)".contains("use a smaller --batch")
        }
    }

    // MARK: What is written

    private static let limits: DataLimits = {
        var limits = DataLimits()
        limits.transactionByteCount = 100
        limits.operationCount = 5
        return limits
    }()

    private static func makeSchema() throws -> Schema {
        let mail = try ClassSchema(
            "Mail", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("text", .scalar(.string))])
        return try Schema([mail])
    }

    private static let schema = (try? makeSchema()) ?? Schema()

    private func output(_ lines: [String], limits: DataLimits = .standard) -> (ProgramOutput, isAllTaken: Bool) {
        let output = ProgramOutput(limits: limits) { Self.schema }
        let bytes = Array(lines.joined(separator: "\n").utf8)
        // In pieces, as a pipe gives them.
        var isAllTaken = true
        for start in stride(from: 0, to: bytes.count, by: 7) {
            isAllTaken = output.take(bytes[start..<min(start + 7, bytes.count)]) && isAllTaken
        }
        return (output, isAllTaken)
    }

    private func line(_ key: Int, _ text: String) -> String {
        #"{"op":"upsert","class":"Mail","key":\#(key),"set":{"text":"\#(text)"}}"#
    }

    @Test func `lines are writes, however they come`() throws {
        let (output, isAllTaken) = output(["", line(1, "a"), "  \r", line(2, "b")])
        #expect(isAllTaken)
        #expect(try output.lines(givenCount: 1).count == 2)
        let (wrong, _) = self.output([line(1, "a"), "", "nonsense", "more"])
        #expect { try wrong.lines(givenCount: 1) } throws: { "\($0)".hasPrefix("line 3 of the program's output: ") }
        #expect(ProgramOutput { Self.schema }.take([0xFF, 0x0A]))
    }

    @Test(
        arguments: [
            // As long as what its text takes.
            (1, 60, nil), (1, 90, "one transaction has at most 100 bytes"),
            (5, 0, nil), (6, 0, "one transaction has at most 5 operations"),
        ] as [(Int, Int, String?)])
    func `a program may print what a transaction takes`(count: Int, length: Int, problem: String?) throws {
        let text = String(repeating: "x", count: length)
        let lines = (1...count).map { length == 0 ? #"{"op":"delete","class":"Mail","key":\#($0)}"# : line($0, text) }
        let (output, isAllTaken) = output(lines + [""], limits: Self.limits)
        #expect(isAllTaken == (problem == nil))
        guard let problem else {
            #expect(try output.lines(givenCount: 1).count == count)
            return
        }
        let size = lines.joined(separator: "\n").utf8.count + 1
        for (givenCount, hint) in [(100, "it was given 100 objects: use a smaller --batch"), (1, "must print less")] {
            let error = #expect(throws: CommandError.self) { try output.lines(givenCount: givenCount) }
            for part in [problem, hint, "\(size) bytes in"] {
                #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
            }
        }
    }

    @Test func `what a program leaves open is a failure, and never half a result`() throws {
        func requests(_ code: Int32, isHeld: Bool) throws -> Int {
            let (output, _) = output([line(1, "a"), #"{"op":"ups"#])
            return try JobPrograms.lines(output, .init(code: code, isOutputHeld: isHeld), givenCount: 3).count
        }
        #expect { try requests(0, isHeld: true) } throws: {
            $0 is CommandError && "\($0)".contains("a child process that it left behind still held its standard output")
        }
        #expect { try requests(3, isHeld: true) } throws: {
            "\($0)".contains("exit code 3; a child process that it left behind")
        }
        #expect { try requests(75, isHeld: true) } throws: {
            "\($0)".contains("has put it off with exit code 75; a child process")
        }
        #expect { try requests(0, isHeld: false) } throws: { "\($0)".hasPrefix("line 2 of the program's output") }
    }
}
