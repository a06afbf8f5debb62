import Testing

@testable import SluiceTransport

@Suite struct KeepAliveTests {
    private let second: Int64 = 1_000_000_000

    private func make(jitter: Double = 0) -> KeepAlive {
        KeepAlive(interval: .seconds(60), timeout: .seconds(120), now: 0, jitter: jitter)
    }

    @Test func quietPeerIsPingedAfterTheInterval() {
        var keepAlive = make()
        #expect(keepAlive.deadline == 60 * second)
        #expect(keepAlive.tick(now: 59 * second) == .wait)
        #expect(keepAlive.tick(now: 60 * second) == .ping)
    }

    @Test func jitterBringsTheFirstPingForward() {
        #expect(make(jitter: 0.5).deadline == 30 * second)
    }

    @Test func peerThatSendsIsNotPinged() {
        var keepAlive = make()
        keepAlive.didReceive(now: 50 * second)
        #expect(keepAlive.tick(now: 60 * second) == .wait)
        #expect(keepAlive.deadline == 110 * second)
    }

    @Test func peerThatDoesNotAnswerIsGivenUpAfterTheTimeoutSinceThePingLeft() {
        var keepAlive = make()
        #expect(keepAlive.tick(now: 60 * second) == .ping)
        keepAlive.didWrite(now: 70 * second, isQueueEmpty: true)
        #expect(keepAlive.tick(now: 189 * second) == .wait)
        #expect(keepAlive.deadline == 190 * second)
        #expect(keepAlive.tick(now: 190 * second) == .giveUp)
    }

    @Test func peerThatAnswersIsPingedAgainLater() {
        var keepAlive = make()
        #expect(keepAlive.tick(now: 60 * second) == .ping)
        keepAlive.didWrite(now: 60 * second, isQueueEmpty: true)
        keepAlive.didReceive(now: 61 * second)
        #expect(keepAlive.tick(now: 120 * second) == .wait)
        #expect(keepAlive.tick(now: 121 * second) == .ping)
    }

    @Test func pingStuckBehindAQueueThatMovesIsNoReasonToGiveUp() {
        var keepAlive = make()
        #expect(keepAlive.tick(now: 60 * second) == .ping)
        keepAlive.didWrite(now: 170 * second, isQueueEmpty: false)
        #expect(keepAlive.tick(now: 200 * second) == .wait)
        #expect(keepAlive.deadline == 290 * second)
        #expect(keepAlive.tick(now: 290 * second) == .giveUp)
    }

    @Test func aProbedPeerIsGivenUpSoonerUnlessItShowsThatItIsThere() {
        for isThere in [false, true] {
            var keepAlive = make()
            keepAlive.probe(timeout: .seconds(10), now: 5 * second)
            #expect(keepAlive.deadline == 15 * second)
            keepAlive.didWrite(now: 6 * second, isQueueEmpty: true)
            #expect(keepAlive.tick(now: 15 * second) == .wait)
            if isThere { keepAlive.didReceive(now: 15 * second) }
            #expect(keepAlive.tick(now: 16 * second) == (isThere ? .wait : .giveUp))
            // Later pings have the whole time.
            if isThere {
                #expect(keepAlive.tick(now: 75 * second) == .ping)
                #expect(keepAlive.deadline == 195 * second)
            }
        }
    }

    @Test func aProbeNeverTakesLongerThanAPing() {
        var keepAlive = make()
        keepAlive.probe(timeout: .seconds(1_000), now: 0)
        #expect(keepAlive.deadline == 120 * second)
    }
}
