import Foundation
import Glibc
import TestSupport

/// A proxy before a server with TLS: it forwards, or does to each connection what a restart, a load balancer, a captive
/// portal or a wrong address would do.
struct TroubledProxy: Sendable {
    /// What it does instead of forwarding.
    enum Trouble: Hashable, Sendable, CustomStringConvertible {
        /// It ends the connection, or resets it: before it answers, in the middle of the server's first answer, or once
        /// the client has completed TLS.
        case ends(Moment, isReset: Bool)
        /// It answers TLS itself, and the request with a status.
        case answers(Int)
        /// It answers TLS itself, and the request with something else.
        case says(String)
        /// It answers with bytes that are no TLS.
        case sends([UInt8])
        /// It answers with a certificate that nobody trusts.
        case impersonates

        enum Moment: String, CaseIterable, Sendable {
            case hello, flight, request
        }

        /// One line, as the program reads it.
        var description: String {
            switch self {
            case .ends(let moment, let isReset): "\(isReset ? "reset" : "end") \(moment.rawValue)"
            case .answers(let status): "say \(Self.hexadecimal(Array(Self.answer(status).utf8)))"
            case .says(let text): "say \(Self.hexadecimal(Array(text.utf8)))"
            case .sends(let bytes): "send \(Self.hexadecimal(bytes))"
            case .impersonates: "impersonate -"
            }
        }

        private static func answer(_ status: Int) -> String {
            "HTTP/1.1 \(status) Trouble\r\nLocation: https://portal.example/\r\nRetry-After: 3600\r\n"
                + "Content-Length: 2\r\n\r\nno"
        }

        private static func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.isEmpty ? "-" : bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    let process: ChildProcess
    let port: UInt16

    private static let script = #"""
        import socket, ssl, struct, sys, threading
        server, folder = int(sys.argv[1]), sys.argv[2]
        def context(name):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
            return made
        good, stranger = context("good"), context("stranger")
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        mode, lock, open_sockets = "forward -", threading.Lock(), set()
        print(listener.getsockname()[1], flush=True)
        def end(peer, is_reset=False):
            if is_reset: peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            try:
                if not is_reset: peer.shutdown(socket.SHUT_WR)
            except OSError: pass
            peer.close()
        def pump(source, target):
            try:
                while True:
                    piece = source.recv(65536)
                    if not piece: break
                    target.sendall(piece)
            except OSError: pass
            for side in (source, target):
                try: side.shutdown(socket.SHUT_RDWR)
                except OSError: pass
        def forward(peer):
            other = socket.create_connection(("127.0.0.1", server))
            with lock: open_sockets.update((peer, other))
            threading.Thread(target=pump, args=(other, peer), daemon=True).start()
            pump(peer, other)
            with lock: open_sockets.difference_update((peer, other))
            peer.close(); other.close()
        def trouble(peer, verb, what):
            if verb in ("end", "reset"):
                hello = peer.recv(65536)
                if what == "hello": return end(peer, verb == "reset")
                other = socket.create_connection(("127.0.0.1", server))
                other.sendall(hello)
                flight = other.recv(65536)
                if what == "flight":
                    peer.sendall(flight[:100])
                    return end(peer, verb == "reset")
                peer.sendall(flight)
                peer.recv(65536)
                return end(peer, verb == "reset")
            if verb == "send":
                peer.recv(65536)
                peer.sendall(b"" if what == "-" else bytes.fromhex(what))
                return end(peer)
            secured = (stranger if verb == "impersonate" else good).wrap_socket(peer, server_side=True)
            secured.recv(65536)
            secured.sendall(b"" if what == "-" else bytes.fromhex(what))
            secured.unwrap().close()
        def serve(peer):
            with lock: line = mode
            verb, _, what = line.partition(" ")
            try: forward(peer) if verb == "forward" else trouble(peer, verb, what)
            except (OSError, ValueError): peer.close()
            if verb != "forward": print("served " + line, flush=True)
        def accept():
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        for line in sys.stdin:
            with lock:
                mode = line.strip()
                for each in open_sockets:
                    try: each.shutdown(socket.SHUT_RDWR)
                    except OSError: pass
            print("ready", flush=True)
        """#

    /// Starts one.
    ///
    /// - Parameter folder: has `good.pem` and `stranger.pem`, each with the key beside it.
    /// - Returns: nil if there is no Python.
    static func start(before server: UInt16, folder: String) async throws -> TroubledProxy? {
        let arguments = ["python3", "-u", "-c", script, "\(server)", folder]
        guard let process = try? ChildProcess("/usr/bin/env", arguments, input: nil) else { return nil }
        do {
            guard let port = UInt16(try await process.line()) else { throw Failure("no port") }
            return TroubledProxy(process: process, port: port)
        } catch {
            process.signal(SIGKILL)
            print("skipped: python3 is no proxy here: \(error)")
            return nil
        }
    }

    /// Does this to each new connection from now on, or forwards it, and ends those that are open.
    func set(_ trouble: Trouble?) async throws {
        process.write((trouble.map { "\($0)" } ?? "forward -") + "\n")
        try await process.line(with: "ready")
    }

    /// Waits until it has done something to another connection.
    func served(_ trouble: Trouble) async throws { try await process.line(with: "served \(trouble)") }

    var url: String { "wss://127.0.0.1:\(port)/test" }
}
