import Sluice
import SluiceModel
import SluiceServer
import SluiceTesting
import Testing

#if SLUICE_MACROS
    /// What travels: objects pushed and pulled, and ephemeral messages (rows O38, O57, C48, C49).
    @Suite(.timeLimit(.minutes(10))) struct TransferTests {
        // MARK: Objects

        @Test func whatIsPushedIsToldOnceTheServerHasItOrHasRejectedIt() async throws {
            let server = try TestServer { server in
                server.onWrite(to: "Vehicle", timeLimit: .seconds(60)) { write in
                    write.new?["price"] == .double(666) ? .refuse("too dear") : .accept
                }
            }
            let alice = try await server.open()
            try await alice.connected()
            server.cut(alice)
            var transfers = try #require(alice.session).transfers.makeAsyncIterator()
            try await alice.write { transaction in
                try transaction.insert(Vehicle(vin: "a", plate: ""))
                try transaction.insert(Person(name: "p"))
            }
            try await alice.write { try $0.insert(Vehicle(vin: "bad", price: 666, plate: "")) }
            try await alice.write { try $0.delete(Vehicle(vin: "a", plate: "")) }
            server.restore(alice)
            var objects: [ObjectTransfer.Object] = []
            while objects.count < 4, let transfer = await transfers.next() {
                #expect(transfer.direction == .upload && transfer.omittedCount == 0)
                objects += transfer.objects
            }
            #expect(objects.map(\.identity.key) == [.string("a"), .string("p"), .string("bad"), .string("a")])
            #expect(objects.map(\.identity.className) == ["Vehicle", "Person", "Vehicle", "Vehicle"])
            #expect(objects.map(\.removal) == [nil, nil, nil, .deleted])
            let reasons: [String?] = objects.map { $0.error?.message }
            #expect(reasons.map { $0 == nil } == [true, true, false, true])
            #expect(reasons[2]?.contains("too dear") == true)
        }

        @Test func whatIsPulledIsToldWhateverIsObserved() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            let bob = try await server.open()
            let recorder = try EventRecorder(bob.objects(Vehicle.self))
            try await recorder.complete()
            try await bob.uploaded()
            var transfers = try #require(bob.session).transfers.makeAsyncIterator()
            try await alice.upload(vins: "a", "b")
            let arrived = try #require(await transfers.next())
            #expect(arrived.direction == .download && arrived.objects.map(\.removal) == [nil, nil])
            #expect(Set(arrived.objects.map(\.identity.key)) == [.string("a"), .string("b")])
            try await alice.write { try $0.delete(Vehicle(vin: "a", plate: "")) }
            let removed = try #require(await transfers.next())
            let vehicle = Identity(className: "Vehicle", key: .string("a"))
            #expect(removed.objects == [.init(identity: vehicle, removal: .deleted)])
            // Its own writes come back, and are no news.
            try await bob.upload(vins: "c")
            let own = try #require(await transfers.next())
            #expect(own.direction == .upload)
            await bob.close()
            #expect(await transfers.next() == nil)
        }

        @Test func whatNoQueryConcernsIsToldWithoutAWaitForTheClock() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            try await alice.connected()
            var transfers = try #require(alice.session).transfers.makeAsyncIterator()
            try await alice.write { try $0.insert(Vehicle(vin: "a", plate: "")) }
            #expect(await transfers.next()?.objects.map(\.identity.key) == [.string("a")])
        }

        @Test func aListenerThatTakesNothingIsToldHowMuchItHasMissed() {
            let listener = EventListener<ObjectTransfer>(pendingCountMax: 2) { $0.omitting($1) }
            let object = ObjectTransfer.Object(identity: Identity(className: "A", key: .int(1)))
            for count in 1...4 {
                listener.note(ObjectTransfer(direction: .download, objects: Array(repeating: object, count: count)))
            }
            #expect(listener.take()?.objects.count == 1)
            let last = listener.take()
            #expect(last?.objects.count == 2 && last?.omittedCount == 7)
            #expect(listener.take() == nil)
        }

        // MARK: Messages

        @Test func messagesReachThoseWhoListenToTheirTopicAndNobodyElse() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            let bob = try await server.open()
            let other = try await server.open(lifecycleModels, database: "other")
            let sessions = try [alice, bob, other].map { try #require($0.session) }
            for store in [alice, bob, other] { try await store.connected() }
            #expect(try await sessions[0].send("nobody", to: "room/1") == 0)
            let (told, continuation) = AsyncStream<SessionMessage>.makeStream()
            let tokens = sessions.map { $0.observeMessages(to: "room/1") { continuation.yield($0) } }
            // The server answers in the order of the requests, so it knows the topic by now.
            for session in sessions { try await session.send("", to: "none") }
            server.clock.advance(by: .seconds(7))
            #expect(try await sessions[0].send("hello", to: "room/1") == 1)
            var iterator = told.makeAsyncIterator()
            // Handlers of two stores are called in no order.
            let first = try #require(await iterator.next())
            #expect(try await sessions[0].send([1, 2, 255], to: "room/2") == 0)
            #expect(try await sessions[1].send([0xFF], to: "room/1") == 1)
            #expect(first.text == "hello" && first.topic == "room/1" && first.userID == nil)
            #expect(first.sentAt == server.clock.now)
            #expect(await iterator.next()?.payload == [0xFF])
            tokens[1].stop()
            try await sessions[1].send("", to: "none")
            #expect(try await sessions[0].send("hello", to: "room/1") == 0)
        }

        @Test func listenersGetMessagesAgainAfterALossAndNothingThatWasSentMeanwhile() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            let bob = try await server.open()
            try await alice.connected()
            try await bob.connected()
            let session = try #require(alice.session)
            var messages = try #require(bob.session).messages(to: "t").makeAsyncIterator()
            server.cut(bob)
            // A store may send 100 messages in a second.
            while try await session.send("lost", to: "t") > 0 { server.clock.advance(by: .milliseconds(100)) }
            server.restore(bob)
            try await bob.connected()
            while try await session.send("found", to: "t") == 0 { server.clock.advance(by: .milliseconds(100)) }
            #expect(await messages.next()?.text == "found")
            await bob.close()
            #expect(await messages.next() == nil)
        }

        @Test func messagesHaveLimits() async throws {
            let server = try TestServer()
            let alice = try await server.open()
            try await alice.connected()
            let session = try #require(alice.session)
            for (topic, count) in [("", 0), (String(repeating: "t", count: 257), 0), ("t", 16_385)] {
                await #expect {
                    try await session.send(Array(repeating: 0, count: count), to: topic)
                } throws: { ($0 as? SyncError)?.code == .limitExceeded }
            }
            try await session.send(Array(repeating: 0, count: 16_384), to: String(repeating: "t", count: 256))
            for _ in 0..<99 { try await session.send("", to: "t") }
            await #expect {
                try await session.send("", to: "t")
            } throws: { ($0 as? SyncError)?.code == .limitExceeded }
            server.clock.advance(by: .seconds(1))
            try await session.send("", to: "t")
            server.cut(alice)
            await #expect {
                for _ in 0..<1_000 { try await session.send("", to: "t") }
            } throws: { ($0 as? SyncError)?.code == .unreachable }
        }

        @Test func whoLacksTheRightNeitherSendsNorReceivesMessages() async throws {
            let rules = #"""
                {"roles": {"member": "$user.claims.role == 'member'"},
                 "database": {"messages": "$role.member", "schema": "TRUEPREDICATE"}}
                """#
            let server = try TestServer(rules: rules)
            let ada = try await server.open(lifecycleModels, user: "ada", claims: #"{"role": "member"}"#)
            let bob = try await server.open(lifecycleModels, user: "bob", claims: #"{"role": "member"}"#)
            let eve = try await server.open(lifecycleModels, user: "eve")
            for store in [ada, bob, eve] { try await store.connected() }
            #expect(try await ada.databasePrivileges() == [.messages, .schema])
            #expect(try await eve.databasePrivileges() == [.schema])
            let sessions = try [ada, bob, eve].map { try #require($0.session) }
            await #expect {
                try await sessions[2].send("hello", to: "t")
            } throws: { ($0 as? SyncError)?.code == .notPermitted }
            var messages = sessions[1].messages(to: "t").makeAsyncIterator()
            let forbidden = sessions[2].messages(to: "t").makeAsyncIterator()
            while try await sessions[0].send("hello", to: "t") == 0 { server.clock.advance(by: .milliseconds(100)) }
            let message = try #require(await messages.next())
            #expect(message.text == "hello" && message.userID == "ada")
            for await change in sessions[2].changes where change.new.problem?.contains("'messages'") ?? false { break }
            #expect(try await sessions[0].send("hello", to: "t") == 1)
            withExtendedLifetime(forbidden) {}
        }
    }
#endif
