import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceTransport
import Testing

/// The JSON form of the protocol, from the socket's side.
struct JSONFormTests {
    @Test func openedHasTheSchemaAndWhoTheClientIs() async throws {
        try await JSONServer.run { network, _ in
            let (client, opened) = try await JSONServer.open(network)
            #expect(opened["outcome"] == .string("created"))
            #expect(opened["user"] == .null)
            #expect(opened["database"] == .string("any"))
            #expect(opened["acknowledged"] == .integer(0))
            #expect(
                opened["schema"]?["classes"]?.array?.first?.text == """
                    {"name":"Car","key":"vin","properties":[{"name":"vin","type":"string"},\
                    {"name":"price","type":"double"},{"name":"doors","type":"int"},\
                    {"name":"tags","type":"list<string>"},\
                    {"name":"dealer","type":"link","optional":true,"target":"Dealer"}]}
                    """)
            client.close()
        }
    }

    @Test func aWriteIsAcknowledgedWithWhatItBrings() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(#"{"type":"sub","id":1,"q":"Car SORT(price ASC) LIMIT(2) TOTAL"}"#)
            let first = try #require(await client.change())
            #expect(first["reset"] == .bool(true))
            #expect(first["total"] == .integer(0))
            client.write(1, JSONServer.cars)
            let change = try #require(await client.change())
            #expect(change["reset"] == nil)
            #expect(change["total"] == .integer(3))
            #expect(change.keysInOrder == [#""b""#, #""c""#])
            #expect(change["authors"]?.array?.first?["own"] == .bool(true))
            #expect(await client.next()?.text == #"{"type":"ack","seq":1,"v":\#(change["v"]?.text ?? "")}"#)
            client.write(2, #"[{"op":"update","class":"Car","key":"c","set":{"price":9}}]"#)
            let moved = try #require(await client.change())
            #expect(moved["gone"]?.array?.first?.text == #"{"class":"Car","key":"c","reason":"window"}"#)
            #expect(moved.put == [#"{"@key":"a","vin":"a","price":3.0,"doors":5,"tags":["x"],"dealer":1}"#])
        }
    }

    @Test func aRowThatIsHereComesWithWhatChanged() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send(#"{"type":"sub","id":1,"q":"Car SORT(price DESC)"}"#)
            #expect(await client.change()?.keysInOrder == [#""a""#, #""c""#, #""b""#])
            client.write(2, #"[{"op":"update","class":"Car","key":"a","add":{"doors":1},"insert":{"tags":["y"]}}]"#)
            let change = try #require(await client.change())
            #expect(change.put == [#"{"@key":"a","doors":6,"tags":["x","y"]}"#])
            #expect(change["put"]?.array?.first?["@sort"] == nil, "its place is the same")
            client.write(3, #"[{"op":"update","class":"Car","key":"a","set":{"price":0}}]"#)
            #expect(await client.change()?["put"]?.array?.first?["@sort"]?.string != nil)
        }
    }

    @Test func whatARowLinksToIsToldWhereItIsAskedFor() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send(#"{"type":"sub","id":1,"q":"Car WHERE doors == 5 SORT(dealer.city ASC)","links":true}"#)
            client.send(#"{"type":"sub","id":2,"q":"Car WHERE doors == 5 SORT(dealer.city ASC)"}"#)
            let linked = try #require(await client.change())
            #expect(
                Set(linked.put) == [
                    #"{"@key":"a","vin":"a","price":3.0,"doors":5,"tags":["x"],"dealer":1}"#,
                    #"{"@key":1,"@linked":true,"id":1,"city":"Oslo"}"#,
                ])
            #expect(await client.change()?.put.count == 1)
            client.write(2, #"[{"op":"update","class":"Dealer","key":1,"set":{"city":"Rome"}}]"#)
            for _ in 0..<2 {
                let change = try #require(await client.change())
                let row = change["put"]?.array?.first { $0["@class"] == .string("Car") }
                #expect(row?["@sort"]?.string != nil, "the car stands elsewhere, since its dealer has moved")
            }
        }
    }

    @Test func badMessagesAreAnsweredAndTheConnectionGoesOn() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            let cases: [(String, String, Int64?)] = [
                ("{\"type\":", "the message is no JSON", 8),
                ("[]", "a message is an object", 0),
                ("{}", "a message has a member 'type', a string", nil),
                (#"{"type":"listen"}"#, "there is no message 'listen'", nil),
                (#"{"type":"sub","id":1,"q":"Car","limit":3}"#, "sub has no member 'limit'", nil),
                (#"{"type":"sub","id":1}"#, "sub lacks its member 'q', a string", nil),
                (#"{"type":"sub","id":"1","q":"Car"}"#, "'id' of sub is not a whole number", nil),
                (#"{"type":"open"}"#, "the session is open already", nil),
                (#"{"type":"write","seq":0,"ops":[]}"#, "'seq' of write is above 0", nil),
                (#"{"type":"ask","id":1,"report":"weather"}"#, "there is no report 'weather'", nil),
            ]
            for (text, message, position) in cases {
                client.send(text)
                let error = try #require(await client.next("error"))
                #expect(error["code"] == .string("protocolViolation"))
                #expect(error["message"]?.string?.hasPrefix(message) == true, "\(text): \(error.text)")
                #expect(error["position"] == position.map { .integer($0) })
            }
            client.send(#"{"type":"sub","id":1,"q":"Car WHERE prize > 3"}"#)
            let refused = try #require(await client.next("error"))
            #expect(refused["id"] == .integer(1))
            #expect(refused["code"] == .string("unknownName"))
            #expect(refused["position"] == .integer(10))
            client.send(#"{"type":"sub","id":2,"q":"Car WHERE price >"}"#)
            #expect(await client.next("error")?["code"] == .string("invalidQuery"))
            client.send(#"{"type":"sub","id":3,"q":"Car WHERE price > $0","args":[2]}"#)
            #expect(await client.change()?["ids"] == .array([.integer(3)]))
            client.write(1, #"[{"op":"update","class":"Car","key":"none","set":{"doors":1}}]"#)
            let rejected = try #require(await client.next("rejected"))
            #expect(rejected["seq"] == .integer(1))
            #expect(rejected["message"] == .string("operation 1: there is no Car with this key"))
            #expect(await client.next("ack")?["seq"] == .integer(1))
        }
    }

    @Test func aWriteThatComesTwiceCountsOnce() async throws {
        try await JSONServer.run { network, _ in
            let (client, opened) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            _ = await client.next("ack")
            client.write(2, #"[{"op":"update","class":"Car","key":"a","add":{"doors":1}}]"#)
            _ = await client.next("ack")
            client.close()
            let name = opened["client"]?.string ?? ""
            let (again, reopened) = try await JSONServer.open(network, ",\"client\":\"\(name)\",\"acknowledged\":1")
            #expect(reopened["outcome"] == .string("resumed"))
            #expect(reopened["acknowledged"] == .integer(2))
            again.write(2, #"[{"op":"update","class":"Car","key":"a","add":{"doors":1}}]"#)
            #expect(await again.next("ack")?["seq"] == .integer(2))
            again.send(#"{"type":"sub","id":1,"q":"Car WHERE vin == 'a'"}"#)
            #expect(await again.change()?["put"]?.array?.first?["doors"] == .integer(6))
        }
    }

    @Test func aClientThatComesBackIsToldWhatItMissed() async throws {
        try await JSONServer.run { network, _ in
            let (client, opened) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send(#"{"type":"sub","id":1,"q":"Car SORT(price ASC)"}"#)
            let version = try #require(await client.change()?["v"]?.text)
            client.close()
            let (other, _) = try await JSONServer.open(network)
            other.write(
                1,
                #"[{"op":"delete","class":"Car","key":"b"},{"op":"update","class":"Car","key":"c","set":{"doors":2}}]"#)
            _ = await other.next("ack")
            let name = opened["client"]?.string ?? ""
            let (again, _) = try await JSONServer.open(network, ",\"client\":\"\(name)\",\"v\":\(version)")
            again.send("{\"type\":\"sub\",\"id\":1,\"q\":\"Car SORT(price ASC)\",\"since\":\(version)}")
            let change = try #require(await again.change())
            #expect(change["reset"] == nil)
            #expect(change.put == [#"{"@key":"c","doors":2}"#])
            #expect(change["gone"]?.array?.first?["key"] == .string("b"))
            // Of a version that it cannot have had, everything.
            again.send("{\"type\":\"sub\",\"id\":2,\"q\":\"Car SORT(price ASC)\",\"since\":99}")
            let anew = try #require(await again.change())
            #expect(anew["reset"] == .bool(true))
            #expect(anew.put.count == 2)
        }
    }

    @Test func reportsAreAnsweredUnderTheirNumbers() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(#"{"type":"ask","id":7,"report":"explain","argument":"Car WHERE doors == 3"}"#)
            let answer = try #require(await client.next("answer"))
            #expect(answer["id"] == .integer(7))
            #expect(answer["value"]?["query"] == .string("Car WHERE doors == 3"))
            client.send(#"{"type":"ask","id":8,"report":"explain","argument":"Car WHERE"}"#)
            #expect(await client.next("error")?["ask"] == .integer(8))
        }
    }

    @Test func textsBeforeTheSessionIsOpenWait() async throws {
        try await JSONServer.run { network, _ in
            let client = try JSONClient(network)
            client.send(#"{"type":"open"}"#)
            client.send(#"{"type":"sub","id":1,"q":"Car"}"#)
            #expect(await client.next()?["type"] == .string("opened"))
            #expect(await client.change()?["ids"] == .array([.integer(1)]))
        }
    }
}
