import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceStorage
import SluiceTransport
import SluiceWire
import Testing

@testable import SluiceServer

/// What is done in the JSON form about objects that jobs have given up, and what the database keeps of them afterwards.
struct JSONJobTests {
    private struct Weather: Error {}

    private static let car = Identity(className: "Car", key: .string("a"))
    private static let dealer = Identity(className: "Dealer", key: .int(7))
    private static let letter = DeadLetterRecord(
        Weather(), attemptCount: 3, time: Timestamp(microseconds: 0), version: 1
    ).wireBytes()

    /// Runs a body at a database in which a queue and a consumer have given up a car, and the queue a dealer.
    private func run(
        _ body: (LoopbackNetwork, JSONClient, _ records: (String) async throws -> [JobRecord]) async throws -> Void
    ) async throws {
        try await JSONServer.run { network, server in
            let access = try server.access(to: "any")
            let letters = [
                (Self.car, QueueClaim.deadSpace("mail")), (Self.dealer, QueueClaim.deadSpace("mail")),
                (Self.car, ConsumerState.deadSpace("index")),
            ].map { JobWrite(DeadLetterRecord.key($0, in: $1), .set(.never, value: Self.letter)) }
            try await access.write(as: nil) { _, _ in OwnTransaction((), [], letters) }
            let (client, _) = try await JSONServer.open(network)
            try await body(network, client) { space in
                try await access.jobs { storage, _ in try storage.jobs(ofSpace: space, after: nil, countMax: 10) }
            }
            client.close()
        }
    }

    /// - Returns: the answer's member `done`, or the message of the error.
    private func ask(_ client: JSONClient, _ id: Int, _ report: String, _ argument: String) async -> String? {
        client.send("{\"type\":\"ask\",\"id\":\(id),\"report\":\"\(report)\",\"argument\":\(argument)}")
        while let message = await client.next() {
            if message["type"]?.string == "answer", message["id"] == .integer(Int64(id)) {
                return message["value"]?["done"]?.text
            }
            if message["ask"] == .integer(Int64(id)) || message["type"]?.string == "error" {
                return message["message"]?.string
            }
        }
        return nil
    }

    @Test func `a dead row that is discarded stays dead, however often, until it is retried`() async throws {
        try await run { _, client, records async throws in
            let (dead, discarded) = (QueueClaim.deadSpace("mail"), QueueClaim.discardedSpace("mail"))
            let car = #"{"queue":"mail","class":"Car","key":"a"}"#
            #expect(await ask(client, 1, "discard", car) == "true")
            #expect(try await records(dead).map(\.key) == [DeadLetterRecord.key(Self.dealer, in: dead)])
            #expect(try await records(discarded).map(\.value) == [Self.letter])
            #expect(await ask(client, 2, "discard", car) == "false")
            #expect(try await records(discarded).count == 1)
            #expect(await ask(client, 3, "retry", car) == "true")
            #expect(await ask(client, 4, "retry", car) == "false")
            #expect(try await records(discarded).isEmpty)
            // A key that is a number may be written as one, and as text.
            #expect(await ask(client, 5, "discard", #"{"queue":"mail","class":"Dealer","key":7}"#) == "true")
            #expect(await ask(client, 6, "retry", #"{"queue":"mail","class":"Dealer","key":"7"}"#) == "true")
            #expect(try await records(dead).isEmpty)
            #expect(try await records(discarded).isEmpty)
        }
    }

    @Test func `an object that a consumer has given up is told to it, or forgotten`() async throws {
        try await run { _, client, records async throws in
            let space = ConsumerState.deadSpace("index")
            let car = #"{"consumer":"index","class":"Car","key":"a"}"#
            #expect(try await records(space).map(\.due) == [nil])
            #expect(await ask(client, 1, "retry", car) == "true")
            // The consumer removes the letter when it has handled the object.
            let told = try await records(space)
            #expect(told.count == 1 && told[0].due != nil && told[0].value == Self.letter)
            #expect(await ask(client, 2, "discard", car) == "true")
            #expect(await ask(client, 3, "discard", car) == "false")
            #expect(try await records(space).isEmpty)
            #expect(try await records(QueueClaim.deadSpace("mail")).count == 2)
        }
    }

    @Test(arguments: [
        (#"{"queue":"mail","class":"Car","key":"z"}"#, "false"),
        (#"{"queue":"other","class":"Car","key":"a"}"#, "false"),
        (#"{"queue":"mail","class":"Boat","key":"a"}"#, "there is no class 'Boat'"),
        (#"{"queue":"mail","class":"Dealer","key":"x"}"#, "none of its keys is such"),
        (#"{"queue":"mail","consumer":"index","class":"Car","key":"a"}"#, "and not both"),
        (#"{"class":"Car","key":"a"}"#, "'queue'"), (#"{"queue":"mail","key":"a"}"#, "'class'"),
        (#"{"queue":"mail","class":"Car"}"#, "'key'"), (#"{"queue":"mail","class":"Car","key":true}"#, "'key'"),
        (#"{"queue":"mail","class":"Car","key":"a","force":true}"#, "'force'"),
    ]) func `what was not given up, or cannot be, is said and changes nothing`(argument: String, said: String)
        async throws
    {
        for report in ["retry", "discard"] {
            try await run { _, client, records async throws in
                let answer = await ask(client, 1, report, argument)
                #expect(answer?.contains(said) == true, "\(report): \(answer ?? "nothing")")
                #expect(try await records(QueueClaim.deadSpace("mail")).count == 2)
                #expect(try await records(QueueClaim.discardedSpace("mail")).isEmpty)
                #expect(try await records(ConsumerState.deadSpace("index")).map(\.due) == [nil])
            }
        }
    }

    @Test func `a session that only reads settles nothing`() async throws {
        try await run { network, _, records in
            let (reader, _) = try await JSONServer.open(network, #","readonly":true"#)
            for (id, report) in ["retry", "discard"].enumerated() {
                let answer = await ask(reader, id + 1, report, #"{"queue":"mail","class":"Car","key":"a"}"#)
                #expect(answer == "a read-only session cannot run jobs")
            }
            reader.close()
            #expect(try await records(QueueClaim.deadSpace("mail")).count == 2)
        }
    }
}
