import SluiceStorage
import SluiceWire
import Testing

@testable import Sluice

/// The table of a subscription's states and events, which the header of `SubscriptionPhase` shows.
struct SubscriptionPhaseTests {
    typealias Phase = SubscriptionPhase
    typealias Event = SubscriptionPhase.Event

    struct Transition: CustomTestStringConvertible {
        let phase: Phase
        let event: Event
        let next: Phase
        let effect: Phase.Effect

        init(_ phase: Phase, _ event: Event, _ next: Phase, _ effect: Phase.Effect = .none) {
            self.phase = phase
            self.event = event
            self.next = next
            self.effect = effect
        }

        var testDescription: String { "\(phase), \(event)" }
    }

    static let error = SyncError(.invalidQuery, "no")
    static let unrequested = Phase.Basis.allCases.map(Phase.unrequested)
    static let requested = Phase.Basis.allCases.flatMap { [Phase.requested($0), .requested($0, isStale: true)] }
    static let compared: [Phase] = [.stagingCompared(), .stagingCompared(isStale: true)]
    static let phases =
        unrequested + requested + [.stagingWhole] + compared + [.complete, .switching, .failed(error)]
    static let requests: [Event] = [
        .request(canResume: false, isWhole: false), .request(canResume: false, isWhole: true),
        .request(canResume: true, isWhole: false), .request(canResume: true, isWhole: true),
    ]
    static let events: [Event] =
        requests + [
            .page(.bootstrap), .page(.resumed), .completion(.bootstrap), .completion(.resumed), .memberList,
            .refusal(error), .restart, .leftBehind, .memberLoss, .contextChange, .serverForgotten, .connectionLoss,
            .retry,
        ]

    /// Every pair of a state and an event that can happen.
    static let transitions: [Transition] =
        transitionsOfServer + transitionsOfRequests + transitionsOfStore + transitionsOfConnection

    static let transitionsOfServer: [Transition] =
        [
            Transition(.requested(.nothing), .page(.bootstrap), .stagingWhole),
            Transition(.requested(.nothing, isStale: true), .page(.bootstrap), .stagingWhole),
            Transition(.stagingWhole, .page(.bootstrap), .stagingWhole),
            Transition(.complete, .page(.resumed), .switching, .demote),
            Transition(.switching, .page(.resumed), .switching),
            Transition(.switching, .memberList, .stagingCompared(), .stageCopy),
            Transition(.requested(.nothing), .completion(.bootstrap), .complete, .finish),
            Transition(.requested(.nothing, isStale: true), .completion(.bootstrap), .complete, .finish),
            Transition(.stagingWhole, .completion(.bootstrap), .complete, .finish),
            Transition(.stagingCompared(), .completion(.resumed), .complete, .finish),
            Transition(.complete, .completion(.resumed), .complete, .confirm),
            Transition(.switching, .completion(.resumed), .complete, .confirm),
        ]
        + (compared + [.complete, .switching]).map { Transition($0, .page(.bootstrap), .stagingWhole, .stage) }
        + compared.map { Transition($0, .page(.resumed), $0) }
        + (phases.filter { $0.isAsked }).map { Transition($0, .refusal(error), .failed(error), .abandon) }
        + [Phase.Basis.members, .complete].flatMap { basis in
            let (fresh, stale) = (Phase.requested(basis), Phase.requested(basis, isStale: true))
            return [
                Transition(fresh, .page(.bootstrap), .stagingWhole, .stage),
                Transition(stale, .page(.bootstrap), .stagingWhole, .stage),
                Transition(fresh, .page(.resumed), fresh),
                Transition(stale, .page(.resumed), stale),
                Transition(fresh, .completion(.resumed), .complete, .confirm),
                Transition(stale, .completion(.resumed), stale, .requestAnew),
                Transition(fresh, .memberList, .stagingCompared(), .stageCopy),
                Transition(stale, .memberList, .stagingCompared(), .stageCopy),
            ]
        } + [
            Transition(
                .stagingCompared(isStale: true), .completion(.resumed), .stagingCompared(isStale: true), .requestAnew)
        ]

    static let transitionsOfRequests: [Transition] = [false, true].flatMap { isWhole in
        let (anew, resuming) = (
            Event.request(canResume: false, isWhole: isWhole), Event.request(canResume: true, isWhole: isWhole)
        )
        return [
            Transition(.unrequested(.nothing), anew, .requested(.nothing)),
            Transition(.unrequested(.members), anew, .requested(.nothing), .stage),
            Transition(.unrequested(.complete), anew, .requested(.nothing), .stage),
            Transition(.failed(error), anew, .requested(.nothing), .stage),
            Transition(.unrequested(.nothing), resuming, .requested(.nothing)),
            Transition(.unrequested(.members), resuming, .requested(.members)),
            isWhole
                ? Transition(.unrequested(.complete), resuming, .requested(.complete))
                : Transition(.unrequested(.complete), resuming, .requested(.members), .demote),
            Transition(.failed(error), resuming, .requested(.members)),
        ]
    }

    static let transitionsOfStore: [Transition] =
        phases.filter { $0.isAsked || $0 == .failed(error) }.map {
            Transition($0, .restart, .unrequested(.members), .abandon)
        }
        + requested.flatMap { phase -> [Transition] in
            guard case .requested(let basis, let isStale) = phase else { return [] }
            let left = basis == .complete ? Phase.Basis.members : basis
            return [
                Transition(phase, .leftBehind, .requested(left, isStale: isStale), .demote),
                Transition(phase, .memberLoss, .requested(basis, isStale: true)),
                Transition(phase, .contextChange, .requested(basis, isStale: true)),
                Transition(phase, .serverForgotten, .requested(left, isStale: isStale)),
            ]
        }
        + phases.filter { !requested.contains($0) }.flatMap { phase -> [Transition] in
            [
                Transition(
                    phase, .memberLoss, compared.contains(phase) ? .stagingCompared(isStale: true) : phase),
                Transition(phase, .contextChange, phase),
            ]
        }
        + [
            Transition(.unrequested(.nothing), .serverForgotten, .unrequested(.nothing)),
            Transition(.unrequested(.members), .serverForgotten, .unrequested(.members)),
            Transition(.unrequested(.complete), .serverForgotten, .unrequested(.members)),
            Transition(.complete, .serverForgotten, .unrequested(.members)),
            Transition(.switching, .serverForgotten, .unrequested(.members)),
            Transition(.failed(error), .serverForgotten, .failed(error)),
        ]
        + ([.stagingWhole] + compared).map { Transition($0, .serverForgotten, .unrequested(.members), .abandon) }

    static let transitionsOfConnection: [Transition] =
        (unrequested + [.failed(error)]).map { Transition($0, .connectionLoss, $0) }
        + requested.map { phase in
            guard case .requested(let basis, _) = phase else { return Transition(phase, .connectionLoss, phase) }
            return Transition(phase, .connectionLoss, .unrequested(basis))
        }
        + ([.stagingWhole] + compared).map { Transition($0, .connectionLoss, .unrequested(.members), .abandon) }
        + [
            Transition(.complete, .connectionLoss, .unrequested(.complete)),
            Transition(.switching, .connectionLoss, .unrequested(.members)),
        ]
        + phases.map { Transition($0, .retry, $0 == .failed(error) ? .unrequested(.members) : $0) }

    @Test(arguments: transitions)
    func `an event leads to the state and the effect of the table`(transition: Transition) throws {
        let (next, effect) = try transition.phase.after(transition.event)
        #expect(next == transition.next)
        #expect(effect == transition.effect)
    }

    @Test func `every other pair of a state and an event is refused with both names`() throws {
        var refused: Set<String> = []
        for phase in Self.phases {
            for event in Self.events
            where !Self.transitions.contains(where: { $0.phase == phase && $0.event == event }) {
                let error = #expect(throws: SubscriptionPhase.IllegalTransition.self) { try phase.after(event) }
                #expect(error?.phase == phase)
                #expect(error?.event == event)
                if let error { refused.insert(error.message) }
            }
        }
        #expect(refused.contains("a subscription that is refused cannot have a page of a bootstrap"))
        #expect(refused.contains("a subscription that is complete cannot have a request for its members"))
        #expect(refused.contains("a subscription that is sent whole cannot have a request"))
    }

    /// What is staged is staged by an effect, and ends by one.
    @Test func `a state stages a membership exactly where an effect has begun one`() throws {
        for transition in Self.transitions {
            let isStaged: Bool? =
                switch transition.effect {
                case .stage, .stageCopy: true
                case .abandon, .finish: false
                case .none, .confirm, .demote, .requestAnew: nil
                }
            #expect(transition.next.isStaging == isStaged ?? transition.phase.isStaging, "\(transition)")
        }
    }

    /// A state that is stored is put back after a transaction that failed, and the session ends then.
    @Test func `a state that is put back survives the end of the session`() throws {
        for phase in Self.phases {
            let (next, _) = try SubscriptionPhase(phase.stored).after(.connectionLoss)
            #expect(next == .unrequested(phase.stored == .complete ? .complete : .members))
        }
    }
}

extension SubscriptionPhase {
    /// Whether the server has been asked, and has not refused.
    fileprivate var isAsked: Bool {
        switch self {
        case .unrequested, .failed: false
        case .requested, .stagingWhole, .stagingCompared, .complete, .switching: true
        }
    }
}
