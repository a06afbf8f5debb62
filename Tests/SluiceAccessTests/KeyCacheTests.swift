import SluiceModel
import Synchronization
import Testing

@testable import SluiceAccess

struct KeyCacheTests {
    private let fixtures: TokenFixtures
    private let clock = TestClock()
    private let token: SignedToken
    private let stranger: SignedToken
    private let keys: KeySet

    init() throws {
        fixtures = try TokenFixtures()
        token = try SignedToken(fixtures.good)
        let other = fixtures.cases.first { $0.name == "the stranger's key under its own name" }
        stranger = try SignedToken(Array((other?.token ?? "").utf8))
        keys = try KeySet(Array(fixtures.keySet.utf8))
    }

    private func answer(_ cache: inout KeyCache, _ token: SignedToken) -> String {
        switch cache.key(of: token, now: clock.now) {
        case .key: "key"
        case .unknown: "unknown"
        case .unavailable: "unavailable"
        case .wait: "wait"
        case .fetch: "fetch"
        }
    }

    @Test func keysHoldForTenMinutes() {
        var cache = KeyCache()
        #expect(answer(&cache, token) == "fetch")
        #expect(answer(&cache, token) == "wait")
        cache.fetched(keys, now: clock.now)
        #expect(answer(&cache, token) == "key")
        clock.advance(seconds: 599)
        #expect(answer(&cache, token) == "key")
        clock.advance(seconds: 1)
        #expect(answer(&cache, token) == "fetch")
    }

    @Test func anUnknownKeyIsAskedForEvery30SecondsAtMost() {
        var cache = KeyCache()
        var fetches = 0
        for _ in 0..<120 {
            if answer(&cache, stranger) == "fetch" {
                fetches += 1
                cache.fetched(keys, now: clock.now)
                #expect(answer(&cache, stranger) == "unknown")
            }
            #expect(answer(&cache, token) == "key")
            clock.advance(seconds: 1)
        }
        #expect(fetches == 4)
    }

    @Test func oldKeysHoldThroughAnOutageOfADay() {
        var cache = KeyCache()
        #expect(answer(&cache, token) == "fetch")
        cache.fetched(keys, now: clock.now)
        var hours = 0
        while hours < 48 {
            clock.advance(seconds: 3_600)
            hours += 1
            #expect(answer(&cache, token) == "fetch")
            cache.fetched(nil, now: clock.now)
            if answer(&cache, token) != "key" { break }
        }
        #expect(hours == 24)
        #expect(answer(&cache, token) == "unavailable")
    }

    @Test func aKeyThatTheIssuerWithdrewIsGoneAfterTenMinutes() throws {
        var cache = KeyCache()
        _ = answer(&cache, token)
        cache.fetched(keys, now: clock.now)
        clock.advance(seconds: 600)
        #expect(answer(&cache, token) == "fetch")
        cache.fetched(try KeySet(Array(fixtures.unnamedKeySet.utf8)), now: clock.now)
        #expect(answer(&cache, token) == "unknown")
    }

    @Test func aClockThatIsSetBackKeepsNoKeysAway() {
        var cache = KeyCache()
        _ = answer(&cache, token)
        cache.fetched(nil, now: clock.now)
        #expect(answer(&cache, token) == "unavailable")
        clock.advance(seconds: -86_400)
        #expect(answer(&cache, token) == "fetch")
    }

    @Test func thoseWhoWaitShareOneFetch() {
        let fetches = Gathered<@Sendable (Result<KeySet, KeySetError>) -> Void>()
        let source = KeySource(issuer: "x", now: { [clock] in clock.now }, log: nil) { fetches.append($0) }
        let found = Gathered<Bool>()
        for _ in 0..<5 { source.key(of: token) { found.append((try? $0.get()) != nil) } }
        #expect(fetches.all.count == 1 && found.all.isEmpty)
        fetches.all[0](.success(keys))
        #expect(found.all == [true, true, true, true, true])
        source.key(of: token) { found.append((try? $0.get()) != nil) }
        #expect(found.all.count == 6 && fetches.all.count == 1)
    }

    @Test func aFetchThatFailsAnswersAllThatWait() {
        let fetches = Gathered<@Sendable (Result<KeySet, KeySetError>) -> Void>()
        let source = KeySource(issuer: "x", now: { [clock] in clock.now }, log: nil) { fetches.append($0) }
        let refused = Gathered<TokenRefusal?>()
        for _ in 0..<2 {
            source.key(of: token) { result in
                if case .failure(let error) = result { refused.append(error) } else { refused.append(nil) }
            }
        }
        fetches.all[0](.failure(KeySetError("it is down")))
        #expect(refused.all == [.keysUnavailable, .keysUnavailable])
    }
}
