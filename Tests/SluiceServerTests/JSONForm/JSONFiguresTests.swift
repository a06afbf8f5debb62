import SluiceExchange
import SluiceJSON
import SluiceTransport
import Testing

/// Totals and figures in the JSON form.
struct JSONFiguresTests {
    @Test func aQueryWithAggregateHasOneRowThatFollowsWhatIsWritten() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(#"{"type":"sub","id":1,"q":"Car AGGREGATE(@count, @avg.price, @max.doors)"}"#)
            let first = try #require(await client.change())
            #expect(first["reset"] == .bool(true))
            #expect(first["total"] == nil)
            #expect(first.put == [#"{"@key":[],"@count":0,"@avg.price":null,"@max.doors":null}"#])
            client.write(1, JSONServer.cars)
            let change = try #require(await client.change())
            #expect(change["reset"] == nil)
            #expect(change["gone"] == nil)
            #expect(change.put == [#"{"@key":[],"@count":3,"@avg.price":2.0,"@max.doors":5}"#])
            #expect(change["authors"]?.array?.first?["own"] == .bool(true))
            #expect(await client.next("ack") != nil)
        }
    }

    @Test func groupsStandInTheirOrderAndAChangeHasThoseThatChangedAndNamesThoseThatAreGone() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send(
                #"{"type":"sub","id":1,"q":"Car GROUP(dealer) AGGREGATE(@count, @sum.price) SORT(@sum.price DESC)"}"#)
            let first = try #require(await client.change())
            #expect(first.keysInOrder == ["[null]", "[1]"], "equals ascend by their keys")
            #expect(
                Set(first.put) == [
                    #"{"@key":[null],"dealer":null,"@count":2,"@sum.price":3.0}"#,
                    #"{"@key":[1],"dealer":1,"@count":1,"@sum.price":3.0}"#,
                ])
            #expect(first["put"]?.array?.first?["@class"] == nil, "a group is no object")
            client.write(2, #"[{"op":"update","class":"Car","key":"b","add":{"price":-1}}]"#)
            let changed = try #require(await client.change())
            #expect(changed.put == [#"{"@key":[null],"dealer":null,"@count":2,"@sum.price":2.0}"#])
            let places = [first, changed].map { change in
                change["put"]?.array?.first { $0["@key"] == .array([.null]) }?["@sort"]?.string ?? ""
            }
            let other = first["put"]?.array?.first { $0["@key"] == .array([.integer(1)]) }?["@sort"]?.string ?? ""
            #expect(places[0] < other && other < places[1], "the group of no dealer is the last now")
            client.write(3, #"[{"op":"delete","class":"Car","key":"a"}]"#)
            let gone = try #require(await client.change())
            #expect(gone.put == [])
            #expect(gone["gone"]?.array?.map(\.text) == [#"{"key":[1],"reason":"filter"}"#])
        }
    }

    @Test func aLimitIsOfTheGroups() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send(
                #"{"type":"sub","id":1,"q":"Car GROUP(doors) AGGREGATE(@max.price) SORT(@max.price DESC) LIMIT(2)"}"#)
            #expect(await client.change()?.keysInOrder == ["[5]", "[4]"])
            client.write(2, #"[{"op":"update","class":"Car","key":"b","set":{"price":9}}]"#)
            let change = try #require(await client.change())
            #expect(change.put == [#"{"@key":[3],"doors":3,"@max.price":9.0}"#])
            #expect(change["gone"]?.array?.map(\.text) == [#"{"key":[4],"reason":"unknown"}"#])
        }
    }

    @Test func whoComesBackIsToldAllGroupsAnew() async throws {
        try await JSONServer.run { network, _ in
            let query = #""q":"Car GROUP(doors) AGGREGATE(@count)""#
            let (client, opened) = try await JSONServer.open(network)
            client.write(1, JSONServer.cars)
            client.send("{\"type\":\"sub\",\"id\":1,\(query)}")
            let version = try #require(await client.change()?["v"]?.text)
            client.close()
            let (other, _) = try await JSONServer.open(network)
            other.write(1, #"[{"op":"delete","class":"Car","key":"b"}]"#)
            _ = await other.next("ack")
            let name = opened["client"]?.string ?? ""
            let (again, _) = try await JSONServer.open(network, ",\"client\":\"\(name)\",\"v\":\(version)")
            again.send("{\"type\":\"sub\",\"id\":1,\(query),\"since\":\(version)}")
            let change = try #require(await again.change())
            #expect(change["reset"] == .bool(true))
            #expect(change.keysInOrder == ["[4]", "[5]"])
        }
    }

    /// Both have the same change of no rows and the same figure, so that the server tells them in one message.
    @Test func aTotalAndACountThatAreEqualAreEachToldAsWhatTheyAre() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            for (id, query) in [
                "Car LIMIT(0) TOTAL", "Car AGGREGATE(@count)", "Car WHERE vin != 'AGGREGATE' LIMIT(0) TOTAL",
            ].enumerated() {
                client.send("{\"type\":\"sub\",\"id\":\(id + 1),\"q\":\"\(query)\"}")
                _ = await client.change()
            }
            client.write(1, JSONServer.cars)
            var told: [String: String] = [:]
            for _ in 0..<3 {
                let change = try #require(await client.change())
                told[change["ids"]?.text ?? ""] = (change["total"]?.text ?? "") + change.put.joined()
            }
            #expect(told == ["[1]": "3", "[2]": #"{"@key":[],"@count":3}"#, "[3]": "3"])
        }
    }

    @Test func aQueryThatMayHaveNoFiguresIsRefusedWithTheByte() async throws {
        try await JSONServer.run { network, _ in
            let (client, _) = try await JSONServer.open(network)
            client.send(#"{"type":"sub","id":1,"q":"Car AGGREGATE(@sum.vin)"}"#)
            let error = try #require(await client.next("error"))
            #expect(error["id"] == .integer(1))
            #expect(error["code"] == .string("invalidQuery"))
            #expect(error["position"] == .integer(19))
            client.send(#"{"type":"sub","id":2,"q":"Car WHERE price < $0 AGGREGATE(@count)","args":[3]}"#)
            #expect(await client.change()?.put == [#"{"@key":[],"@count":0}"#])
        }
    }
}
