import Foundation
import SluiceBackend
import TestSupport

/// Kills a server and the jobs at its data at random moments, while the data change, and then compares what the jobs have
/// derived with the data: `JobKills KILLS ROWS [SEED [MILLISECONDS-BETWEEN-KILLS]]`. `JobKills queue KILLS ROWS …` does so
/// with the workers of a queue.
@main struct Main {
    static func main() async {
        do { try await run(Array(CommandLine.arguments.dropFirst())) } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("serve"?, 3): try await Processes.serve(arguments[1], port: Int(arguments[2]) ?? 0)
        case ("consume"?, 4): try await Processes.consume(arguments[1], arguments[2], isOnce: arguments[3] == "once")
        case ("serve-queue"?, 4):
            try await Processes.serveQueue(arguments[1], port: Int(arguments[2]) ?? 0, arguments[3])
        case ("work"?, 4): try await Processes.work(arguments[1], arguments[2], arguments[3])
        case ("queue"?, 3...5):
            let numbers = arguments.dropFirst().compactMap { Int($0) }
            guard numbers.count == arguments.count - 1 else { return usage() }
            var killing = try QueueKilling(
                kills: numbers[0], rows: numbers[1], seed: numbers.count > 2 ? numbers[2] : 1,
                pauseMax: numbers.count > 3 ? numbers[3] : 200)
            try await killing.run()
        case (_, 2...4):
            let numbers = arguments.compactMap { Int($0) }
            guard numbers.count == arguments.count else { return usage() }
            var killing = try await Killing(
                kills: numbers[0], rows: numbers[1], seed: numbers.count > 2 ? numbers[2] : 1,
                pauseMax: numbers.count > 3 ? numbers[3] : 400)
            try await killing.run()
        default: usage()
        }
    }

    private static func usage() {
        FileHandle.standardError.write(
            Data(
                """
                usage: JobKills [queue] KILLS ROWS [SEED, 1 if not named [MILLISECONDS between kills, at most, 400; of a \
                queue 200]]

                """.utf8))
        exit(64)
    }
}
