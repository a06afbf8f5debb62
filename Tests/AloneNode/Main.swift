import Foundation
import Sluice
import SluiceBackend
import SluiceServer

#if PostgreSQL
    import SluicePostgres
#endif

/// A mail that was sent.
@Model struct SentMail {
    @PrimaryKey var id: String
}

/// A server program of a cluster with a task that runs on one node at a time: `AloneNode JOURNAL FOLDER NAME`. It prints
/// `listening on URL`, then `has term NUMBER` when it has the task. Each line of its input is a mail that the task stores,
/// with the answer `stored MAIL` or `refused MAIL CODE`. It prints `lost term NUMBER` when the task is cancelled.
@main struct Main {
    static func main() async {
        do { try await run(Array(CommandLine.arguments.dropFirst())) } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    #if PostgreSQL
        private static func run(_ arguments: [String]) async throws {
            guard arguments.count == 3 else { throw Failure("AloneNode JOURNAL FOLDER NAME") }
            var configuration = ServerConfiguration(dataFolder: arguments[1], port: 0, isDevelopment: true)
            configuration.journal = try PostgresJournals(url: arguments[0], node: arguments[2])
            let server = try SyncServer(configuration)
            say("listening on ws://127.0.0.1:\(try server.start())")
            let database = try await server.database("mails", models: [SentMail.self])
            let mails = lines()
            try await database.alone("mailer") { lease in
                say("has term \(lease.term)")
                for await mail in mails {
                    do {
                        // The lease is asked for by who stores, and not by who wants to.
                        try await lease.database.write { try $0.insert(SentMail(id: mail)) }
                        say("stored \(mail)")
                    } catch let error as ServerError { say("refused \(mail) \(error.code)") }
                }
                say("lost term \(lease.term)")
                // A task that has lost its lease is cancelled, and waits for the next.
                try Task.checkCancellation()
            }
        }

        /// The lines of the input, until it ends.
        private static func lines() -> AsyncStream<String> {
            let (stream, continuation) = AsyncStream.makeStream(of: String.self)
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
            return stream
        }
    #else
        private static func run(_ arguments: [String]) async throws {
            throw Failure("build with the package trait PostgreSQL")
        }
    #endif

    private struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}
