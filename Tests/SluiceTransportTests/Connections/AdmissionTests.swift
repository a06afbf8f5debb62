import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

@Suite struct AdmissionTests {
    private static let second: Int64 = 1_000_000_000

    private func id(_ number: Int) -> ConnectionID { ConnectionID(rawValue: UInt64(number)) }

    private func address(_ number: UInt64) -> AddressKey { AddressKey("192.0.2.\(number)") }

    private func admission(_ pendingMax: Int, perAddress: Int, waiting: Int = 10) -> PendingConnections {
        PendingConnections(
            .init(pendingMax: pendingMax, pendingMaxPerAddress: perAddress, waitingMax: waiting, time: 10 * Self.second)
        )
    }

    @Test func aBurstOfOneAddressIsServedInOrderAsPlacesBecomeFree() {
        var admission = admission(100, perAddress: 2)
        #expect(admission.arrive(id(1), from: address(1), now: 0) == [.begin(id(1))])
        #expect(admission.arrive(id(2), from: address(1), now: 0) == [.begin(id(2))])
        #expect(admission.arrive(id(3), from: address(1), now: 0) == [])
        #expect(admission.arrive(id(4), from: address(1), now: 0) == [])
        #expect(admission.leave(id(2), now: 1) == [.begin(id(3))])
        #expect(admission.leave(id(1), now: 1) == [.begin(id(4))])
        #expect(admission.leave(id(4), now: 1) == [])
        #expect(admission.leave(id(3), now: 1) == [])
        #expect(admission.isIdle)
    }

    @Test func onePeerThatSaysNothingGivesItsPlaceToTheNextAfterASecond() {
        var admission = admission(100, perAddress: 2)
        _ = admission.arrive(id(1), from: address(1), now: 0)
        _ = admission.arrive(id(2), from: address(1), now: 0)
        admission.progress(id(1), now: Self.second / 2)
        let steps = admission.arrive(id(3), from: address(1), now: Self.second)
        guard steps.count == 2, case .dismiss(id(2), let reason) = steps[0], steps[1] == .begin(id(3)) else {
            Issue.record("\(steps)")
            return
        }
        #expect(reason.contains("2 from one address and 100 in all"))
    }

    @Test func whoWaitsGetsThePlaceOfAPeerThatSaysNothingAtTheNextTick() {
        var admission = admission(100, perAddress: 1)
        _ = admission.arrive(id(1), from: address(1), now: 0)
        #expect(admission.arrive(id(2), from: address(1), now: 1) == [])
        #expect(admission.tick(now: Self.second - 1) == [])
        let steps = admission.tick(now: Self.second)
        #expect(steps.count == 2 && steps.last == .begin(id(2)), "\(steps)")
    }

    @Test func aPlaceTakenFromASilentPeerGoesToWhoeverCameLast() {
        var admission = admission(100, perAddress: 1, waiting: 2_000)
        for number in 1...1_000 { _ = admission.arrive(id(number), from: address(1), now: 0) }
        let steps = admission.tick(now: Self.second)
        #expect(steps.count == 2 && steps.last == .begin(id(1_000)), "\(steps)")
        #expect(admission.leave(id(1_000), now: Self.second) == [.begin(id(2))])
    }

    @Test func silentPeersOfOneAddressLeaveThePlacesOfOthersAlone() {
        var admission = admission(8, perAddress: 4)
        for number in 1...20 { _ = admission.arrive(id(number), from: address(1), now: 0) }
        #expect(admission.arrive(id(30), from: address(2), now: 0) == [.begin(id(30))])
    }

    @Test func theReserveIsForAddressesThatHaveNone() {
        var admission = admission(8, perAddress: 8, waiting: 30)
        for number in 1...20 { _ = admission.arrive(id(number), from: address(1), now: 0) }
        // Six of eight places are taken, and two are reserved.
        #expect(admission.arrive(id(30), from: address(2), now: 0) == [.begin(id(30))])
        #expect(admission.arrive(id(31), from: address(2), now: 0) == [])
        #expect(admission.arrive(id(32), from: address(3), now: 0) == [.begin(id(32))])
        #expect(admission.arrive(id(33), from: address(4), now: 0) == [])
    }

    @Test func moreThanMayWaitAreRefusedWithTheReason() {
        var admission = admission(100, perAddress: 1, waiting: 1)
        _ = admission.arrive(id(1), from: address(1), now: 0)
        #expect(admission.arrive(id(2), from: address(1), now: 0) == [])
        let steps = admission.arrive(id(3), from: address(1), now: 0)
        guard case .refuse(id(3), let reason) = steps.first else {
            Issue.record("\(steps)")
            return
        }
        #expect(reason.contains("1 from one address"))
    }

    @Test func whoDoesNotLogInInTimeIsDismissedWhateverItsProgress() {
        var admission = admission(100, perAddress: 1)
        _ = admission.arrive(id(1), from: address(1), now: 0)
        admission.progress(id(1), now: 9 * Self.second)
        #expect(admission.tick(now: 10 * Self.second - 1) == [])
        #expect(
            admission.tick(now: 10 * Self.second)
                == [.dismiss(id(1), reason: "the peer has not logged in in time")])
        #expect(admission.isIdle)
    }

    /// Random events: after each, the limits hold, nothing waits while there is a free place, and no connection is
    /// lost.
    @Test(arguments: UInt64(0)..<20) func whateverComesTheLimitsHold(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var admission = admission(12, perAddress: 5, waiting: 15)
        var home: [ConnectionID: UInt64] = [:]
        var served: Set<ConnectionID> = []
        var waiting: Set<ConnectionID> = []
        var now: Int64 = 0
        var last = 0
        func carryOut(_ steps: [PendingConnections.Step]) {
            for step in steps {
                switch step {
                case .begin(let id):
                    #expect(waiting.remove(id) != nil)
                    served.insert(id)
                case .dismiss(let id, _): #expect(served.remove(id) != nil)
                case .refuse(let id, _): #expect(waiting.remove(id) != nil)
                }
            }
        }
        for _ in 0..<600 {
            now += Int64.random(in: 0...(Self.second / 3), using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5:
                last += 1
                home[id(last)] = UInt64.random(in: 0..<4, using: &generator)
                waiting.insert(id(last))
                carryOut(admission.arrive(id(last), from: address(home[id(last)]!), now: now))
            case 5..<7:
                guard let one = served.sorted(by: { $0.rawValue < $1.rawValue }).first else { break }
                served.remove(one)
                carryOut(admission.leave(one, now: now))
            case 7:
                if let one = served.max(by: { $0.rawValue < $1.rawValue }) { admission.progress(one, now: now) }
            default: carryOut(admission.tick(now: now))
            }
            #expect(served.count <= 12 && waiting.count <= 15)
            for address in 0..<UInt64(4) {
                let count = served.count { home[$0] == address }
                #expect(count <= 5)
                if count == 0, served.count < 12 { #expect(!waiting.contains { home[$0] == address }) }
            }
        }
        for _ in 0..<3 {
            now += 11 * Self.second
            carryOut(admission.tick(now: now))
        }
        #expect(served.isEmpty && waiting.isEmpty && admission.isIdle)
    }
}
