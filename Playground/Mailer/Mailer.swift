import Foundation
import SluiceBackend

@Model struct Mail {
    @PrimaryKey var id: Int
    var address = ""
    var text = ""
    var isSent = false
}

/// A work queue: sends mails that clients have written, each by one worker, and marks them as sent. `Mailer FOLDER PORT`
/// runs until SIGTERM or SIGINT, or until it is killed; the next one goes on with what was not sent.
@main struct Mailer {
    static func main() async {
        do { try await run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let port = arguments.last.flatMap(UInt16.init) else {
            FileHandle.standardError.write(Data("usage: Mailer FOLDER PORT\n".utf8))
            exit(64)
        }
        var configuration = ServerConfiguration(port: port, isDevelopment: true)
        configuration.dataFolder = folder
        let server = try SyncServer(configuration)
        let shop = try await server.database("shop", models: [Mail.self])
        var options = WorkQueue<Mail>.Options()
        // After a kill nobody waits long for the mails that were being sent.
        options.lease = .seconds(2)
        options.attempts = 3
        options.backoff = .exponential(.milliseconds(50), max: .seconds(1))
        let mails = shop.queue(
            "mail", of: shop.objects(Mail.self).where { !$0.isSent }.sorted(by: \.id), options: options)
        let work = Task {
            try await mails.run(workers: 4) { mail, claim in
                try send(mail, claim.id)
                return { transaction in try transaction.update(mail) { $0.isSent = true } }
            }
        }
        let signals = [SIGTERM, SIGINT].map { number in onSignal(number) { work.cancel() } }
        FileHandle.standardOutput.write(Data("serving at port \(try server.start())\n".utf8))
        let result = await work.result
        signals.forEach { $0.cancel() }
        await server.stop()
        try result.get()
    }

    /// Stands for a service that takes mails: it refuses addresses without "@", and is told by the id when a mail comes
    /// once more.
    private static func send(_ mail: Mail, _ id: String) throws {
        guard mail.address.contains("@") else { throw Refusal(address: mail.address) }
        FileHandle.standardOutput.write(Data("sent \(id)\n".utf8))
    }

    private struct Refusal: Error, CustomStringConvertible {
        let address: String
        var description: String { "'\(address)' is no address: it has no @" }
    }

    /// Calls `handler` when a signal comes, which would else end the process.
    private static func onSignal(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal
    {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { @Sendable in handler() }
        source.resume()
        return source
    }
}
