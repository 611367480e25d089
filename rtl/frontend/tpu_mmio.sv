// SPDX-License-Identifier: MIT
//
// The scalar core's accesses: which register or memory, may it be, and if not, which error.
//
// Registers answer in the cycle of the request and take effect at its end. Reads of program memory and
// accesses to VMEM and SMEM go to their memory and hold the request (mmio_ready_o) until it has answered.
// Nothing is decoded while there is no request. Checks come in the order of the contract: is there such a
// register in this direction and size; are reserved bits zero; does this configuration have the field;
// then what the register itself demands.

module tpu_mmio
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
  localparam int unsigned VmemAddrBits = $clog2(VmemBytes / VmemWordBytes),
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes)
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  logic                        mmio_valid_i,
  input  logic                        mmio_we_i,
  input  logic [23:0]                 mmio_addr_i,
  input  logic [3:0]                  mmio_be_i,
  input  logic [31:0]                 mmio_wdata_i,
  output logic                        mmio_ready_o,
  output logic [31:0]                 mmio_rdata_o,

  input  logic                        idle_i,       // device idle
  input  logic                        refuse_i,     // sticky error or abort: GO does nothing

  // Control registers.
  output logic                        ctrl_req_o,
  input  logic [31:0]                 ctrl_rdata_i,
  output logic                        mark_o,       // TRACE_MARK is written

  // Counters.
  output logic                        counter_re_o,
  input  logic [31:0]                 counter_rdata_i,

  // Staging registers; the offset is mmio_addr_i[8:0].
  output logic [Queues-1:0]           stage_we_o,
  output logic [Queues-1:0]           stage_re_o,
  input  logic [Queues-1:0][31:0]     stage_rdata_i,
  input  logic [Queues-1:0][31:0]     waits_i,
  input  logic [Queues-1:0][3:0]      free_i,
  output logic [Queues-1:0]           go_o,

  // Semaphore file.
  output sem_op_e                     sem_op_o,
  output logic                        sem_re_o,
  output logic [5:0]                  sem_o,        // SemMode: word in bit 0
  input  logic [31:0]                 sem_value_i,
  input  logic [63:0]                 sem_mode_i,

  // Vector program memory.
  output logic                        prog_valid_o,
  input  logic                        prog_rsp_valid_i,
  input  logic [31:0]                 prog_rsp_data_i,

  // Scalar ports of the memories.
  output logic                        vmem_valid_o,
  output logic [VmemAddrBits-1:0]     vmem_addr_o,
  output logic [VmemWordBytes*8-1:0]  vmem_wdata_o,
  output logic [VmemWordBytes-1:0]    vmem_be_o,
  input  logic                        vmem_gnt_i,
  input  logic                        vmem_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0]  vmem_rsp_data_i,
  output logic                        smem_valid_o,
  output logic [SmemAddrBits-1:0]     smem_addr_o,
  output logic [HbmPortBytes*8-1:0]   smem_wdata_o,
  output logic [HbmPortBytes-1:0]     smem_be_o,
  input  logic                        smem_gnt_i,
  input  logic                        smem_rsp_valid_i,
  input  logic [HbmPortBytes*8-1:0]   smem_rsp_data_i,

  output error_t                      error_o
);

  localparam logic [Queues-1:0] Present =
    {1'b1, 1'(VpuPresent), (MxuInt8 != 0) || (MxuBf16 != 0),
     DmaChannels > 3, DmaChannels > 2, DmaChannels > 1, 1'b1};
  localparam logic [31:0] WaitsMask = 32'((64'd1 << (8 * Waits)) - 64'd1);
  localparam logic [31:0] SignalsMask = 32'h0007_ffff;

  // ---- where ----

  typedef enum logic [3:0] {
    None, Ctrl, Param, Counter, SemValueR, SemSignalR, SemTakeR, SemModeR, Stage, Go, Prog, Vmem, Smem
  } region_e;

  region_e region;
  logic word_access, window_access;  // legal sizes
  logic [1:0] lane;                  // first byte
  logic [11:0] page;
  logic [2:0] q;
  logic [8:0] offset;                // in the queue's block
  logic [31:0] arg_bits;             // bits that exist in an argument register
  logic readable, writable;
  logic [23:0] where;                // byte offset of the access, for errors
  logic [31:0] data;                 // data of the access, for errors

  always_comb begin
    region = None;
    word_access = 1'b0;
    window_access = 1'b0;
    lane = '0;
    page = '0;
    q = '0;
    offset = '0;
    arg_bits = '0;
    readable = 1'b0;
    writable = 1'b0;
    where = '0;
    data = '0;
    if (mmio_valid_i) begin
      lane = mmio_be_i[0] ? 2'd0 : mmio_be_i[1] ? 2'd1 : mmio_be_i[2] ? 2'd2 : 2'd3;
      word_access = (mmio_be_i == 4'hf);
      case (mmio_be_i)
        4'h1, 4'h2, 4'h4, 4'h8, 4'h3, 4'hc, 4'hf: window_access = 1'b1;
        default: window_access = 1'b0;
      endcase
      where = {mmio_addr_i[23:2], lane};
      if (mmio_we_i) begin
        data = mmio_wdata_i & {{8{mmio_be_i[3]}}, {8{mmio_be_i[2]}}, {8{mmio_be_i[1]}}, {8{mmio_be_i[0]}}};
        data = data >> {lane, 3'd0};
      end
      q = mmio_addr_i[11:9];
      offset = {mmio_addr_i[8:2], 2'd0};
      page = mmio_addr_i[15:4];
      if (q < 3'(QMxu)) arg_bits = tpu_dma_bits(offset);
      else if (q == 3'(QMxu)) arg_bits = tpu_mxu_bits(offset);
      else if (q == 3'(QVpu)) arg_bits = tpu_vpu_bits(offset);

      if (mmio_addr_i[23]) region = Vmem;
      else if (mmio_addr_i[22:20] != '0) region = Smem;
      else if (mmio_addr_i[23:16] == '0) begin
        readable = 1'b1;
        writable = 1'b1;
        if (page < 12'h005 && mmio_addr_i[15:0] <= TPU_REG_HBM_LATENCY[15:0] + 16'd3) begin
          region = Ctrl;
          case (mmio_addr_i[6:2])
            TPU_REG_INTR_TEST[6:2]: readable = 1'b0;  // CTRL reads 0
            TPU_REG_ID[6:2], TPU_REG_VERSION[6:2], TPU_REG_ABI_HASH[6:2], TPU_REG_FEATURES[6:2],
            TPU_REG_STATUS[6:2], TPU_REG_CYCLE_LO[6:2], TPU_REG_CYCLE_HI[6:2], TPU_REG_ERROR[6:2],
            TPU_REG_ERROR_TAG[6:2], TPU_REG_ERROR_DETAIL0[6:2], TPU_REG_ERROR_DETAIL1[6:2]:
              writable = 1'b0;
            default: ;
          endcase
        end else if (page[11:5] == TPU_REG_PARAM[15:9]) begin
          region = Param;
          writable = 1'b0;
        end else if (page[11:5] == TPU_REG_COUNTER[15:9] && mmio_addr_i[8:6] != 3'd7) begin
          region = Counter;
          writable = 1'b0;
        end else if (page[11:4] == TPU_REG_SEM_VALUE[15:8]) begin
          region = SemValueR;
        end else if (page[11:4] == TPU_REG_SEM_SIGNAL[15:8]) begin
          region = SemSignalR;
          readable = 1'b0;
        end else if (page[11:4] == TPU_REG_SEM_TAKE[15:8]) begin
          region = SemTakeR;
          readable = 1'b0;
        end else if (mmio_addr_i[15:3] == TPU_REG_SEM_MODE[15:3]) begin
          region = SemModeR;
        end else if (mmio_addr_i[15:12] == TPU_QUEUE_BASE[15:12] && q != 3'd7) begin
          if (offset == TPU_Q_GO) region = Go;
          else if (offset == TPU_Q_WAITS || offset == TPU_Q_SIGNALS ||
                   offset[8:4] == TPU_Q_WAIT_AMOUNT[8:4] || offset[8:3] == TPU_Q_SIGNAL_AMOUNT[8:3] ||
                   arg_bits != '0) region = Stage;
        end else if (mmio_addr_i[15:13] == TPU_REG_VPROG[15:13] && VpuPresent != 0 &&
                     32'(mmio_addr_i[12:2]) < 32'(2 * VpuProgram)) begin
          region = Prog;
        end
      end
    end
  end

  // ---- may it be ----

  logic absent;                      // a non-zero write to something this configuration lacks
  logic reserved;                    // a non-zero write to reserved bits
  logic in_range;                    // window accesses
  logic [31:0] smem_offset;          // of the word
  logic [31:0] waits;                // WAITS of the queue
  logic dup;
  logic [5:0] dup_sem;
  logic full;
  logic [7:0] code;
  logic [3:0] agent;
  logic [31:0] detail0, detail1;

  always_comb begin
    absent = 1'b0;
    reserved = 1'b0;
    in_range = 1'b0;
    waits = '0;
    dup = 1'b0;
    dup_sem = '0;
    full = 1'b0;
    smem_offset = '0;
    if (mmio_valid_i) begin
      smem_offset = {8'd0, mmio_addr_i[23:2], 2'd0} - 32'(TPU_WINDOW_SMEM);
      in_range = (region == Vmem) ? (32'(mmio_addr_i[22:0]) < 32'(VmemBytes))
                                  : (smem_offset < 32'(SmemBytes));
      for (int unsigned i = 0; i < Queues; i++) begin
        if (q == 3'(i)) begin
          waits = waits_i[i];
          full = (free_i[i] == '0);
        end
      end
      for (int i = int'(Waits) - 1; i >= 0; i--) begin
        for (int j = int'(Waits) - 1; j > i; j--) begin
          if (waits[8*i + 7] && waits[8*j + 7] && (waits[8*i +: 6] == waits[8*j +: 6])) begin
            dup = 1'b1;
            dup_sem = waits[8*i +: 6];
          end
        end
      end
      case (region)
        SemValueR, SemSignalR, SemTakeR:
          absent = (32'(mmio_addr_i[7:2]) >= 32'(Semaphores)) && (mmio_wdata_i != '0);
        SemModeR: absent = (32'(mmio_addr_i[2]) * 32 >= 32'(Semaphores)) && (mmio_wdata_i != '0);
        Stage: begin
          if (!Present[q]) absent = (mmio_wdata_i != '0);
          else if (offset == TPU_Q_WAITS) begin
            absent = ((mmio_wdata_i & ~WaitsMask) != '0);
            for (int unsigned i = 0; i < 4; i++) begin
              if (mmio_wdata_i[8*i + 7] && (32'(mmio_wdata_i[8*i +: 6]) >= 32'(Semaphores))) absent = 1'b1;
            end
          end else if (offset == TPU_Q_SIGNALS) begin
            for (int unsigned i = 0; i < 2; i++) begin
              if (mmio_wdata_i[8*i + 7] && (32'(mmio_wdata_i[8*i +: 6]) >= 32'(Semaphores))) absent = 1'b1;
            end
            reserved = ((mmio_wdata_i & ~SignalsMask) != '0);
          end else if (offset[8:4] == TPU_Q_WAIT_AMOUNT[8:4]) begin
            absent = (32'(offset[3:2]) >= 32'(Waits)) && (mmio_wdata_i != '0);
          end else if (offset >= TPU_DMA_SRC) begin
            reserved = ((mmio_wdata_i & ~arg_bits) != '0);
            if ((MxuBf16 == 0) && (q == 3'(QMxu)) && (offset == TPU_MXU_MODE)) absent = mmio_wdata_i[0];
          end
        end
        default: ;
      endcase
    end
  end

  always_comb begin
    code = TPU_ERROR_NONE;
    agent = TPU_QUEUE_SCALAR;
    detail0 = '0;
    detail1 = '0;
    if (mmio_valid_i) begin
      detail0 = 32'(where);
      detail1 = data;
      case (region)
        None: code = TPU_ERROR_BAD_ACCESS;
        Vmem, Smem: begin
          if (!window_access) code = TPU_ERROR_BAD_ACCESS;
          else if (!in_range) begin
            code = TPU_ERROR_RANGE;
            detail0 = (region == Vmem) ? {22'd0, TPU_SPACE_VMEM, 8'd0} : {22'd0, TPU_SPACE_SMEM, 8'd0};
            detail1 = (region == Vmem) ? 32'(where[22:0]) : smem_offset + 32'(lane);
          end
        end
        default: begin
          if (!word_access || (mmio_we_i ? !writable : !readable)) code = TPU_ERROR_BAD_ACCESS;
          else if (mmio_we_i && region == Go) begin
            if (!refuse_i) begin
              agent = {1'b0, q};
              if (!Present[q]) code = TPU_ERROR_UNIT_ABSENT;
              else if (dup) begin
                code = TPU_ERROR_SEM_DUPLICATE;
                detail0 = 32'(dup_sem);
                detail1 = '0;
              end else if (full) begin
                code = TPU_ERROR_QUEUE_FULL;
                detail0 = '0;
                detail1 = '0;
              end
            end
          end else if (mmio_we_i) begin
            if (reserved) begin
              code = TPU_ERROR_BAD_FIELD;
              detail0 = 32'(offset);
            end else if (absent) code = TPU_ERROR_UNIT_ABSENT;
            else if (region == SemTakeR && sem_mode_i[mmio_addr_i[7:2]]) code = TPU_ERROR_BAD_ACCESS;
          end
        end
      endcase
    end
  end

  // The only check that depends on what the engines do.
  logic busy;
  assign busy = mmio_valid_i & mmio_we_i & (region == SemValueR || region == SemModeR) & ~idle_i &
                (code == TPU_ERROR_NONE);

  always_comb begin
    error_o = '0;
    // An error of a held request is reported once: errors are answered at once.
    if (busy || code != TPU_ERROR_NONE) begin
      error_o.valid = 1'b1;
      error_o.code = busy ? TPU_ERROR_SEM_BUSY : code;
      error_o.agent = agent;
      error_o.tag = (region == Go) ? mmio_wdata_i : '0;
      error_o.detail0 = detail0;
      error_o.detail1 = detail1;
    end
  end

  // ---- do it ----

  logic ok, write, read;
  assign ok = mmio_valid_i & (code == TPU_ERROR_NONE);  // but for `busy`, which only writes of two registers know
  assign write = ok & mmio_we_i;
  assign read = ok & ~mmio_we_i;

  assign ctrl_req_o = ok & (region == Ctrl);
  assign mark_o = write & (region == Ctrl) & (mmio_addr_i[6:2] == TPU_REG_TRACE_MARK[6:2]);
  assign counter_re_o = read & (region == Counter);
  assign stage_we_o = (write && region == Stage && Present[q]) ? (Queues'(1) << q) : '0;
  assign stage_re_o = (read && (region == Stage || region == Go) && Present[q]) ? (Queues'(1) << q) : '0;
  assign go_o = (write && region == Go && !refuse_i) ? (Queues'(1) << q) : '0;
  assign sem_o = (region == SemModeR) ? {5'd0, mmio_addr_i[2]} : mmio_addr_i[7:2];
  assign sem_re_o = read & (region == SemValueR) & (32'(mmio_addr_i[7:2]) < 32'(Semaphores));

  logic sem_there;  // a zero write to an absent semaphore does nothing
  always_comb begin
    sem_op_o = SemNone;
    sem_there = 1'b0;
    if (write) begin
      sem_there = (region == SemModeR) ? (32'(mmio_addr_i[2]) * 32 < 32'(Semaphores))
                                       : (32'(mmio_addr_i[7:2]) < 32'(Semaphores));
      if (sem_there && !busy) begin
        case (region)
          SemValueR: sem_op_o = SemValue;
          SemSignalR: sem_op_o = SemSignal;
          SemTakeR: sem_op_o = SemTake;
          SemModeR: sem_op_o = SemMode;
          default: ;
        endcase
      end
    end
  end

  // ---- memories: granted, and for reads the answer is awaited ----

  localparam int unsigned VmemLanes = VmemWordBytes / 4;
  localparam int unsigned SmemLanes = HbmPortBytes / 4;
  localparam int unsigned VmemShift = $clog2(VmemWordBytes);
  localparam int unsigned SmemShift = $clog2(HbmPortBytes);

  logic asked_q;  // the read was granted, its data is on the way

  assign vmem_valid_o = ok & (region == Vmem) & ~asked_q;
  assign smem_valid_o = ok & (region == Smem) & ~asked_q;
  assign prog_valid_o = ok & (region == Prog) & ~asked_q;
  assign vmem_addr_o = mmio_addr_i[VmemShift +: VmemAddrBits];
  assign smem_addr_o = mmio_addr_i[SmemShift +: SmemAddrBits];
  assign vmem_wdata_o = {VmemLanes{mmio_wdata_i}};
  assign smem_wdata_o = {SmemLanes{mmio_wdata_i}};
  assign vmem_be_o = VmemWordBytes'(mmio_be_i) << {mmio_addr_i[VmemShift-1:2], 2'd0};
  assign smem_be_o = HbmPortBytes'(mmio_be_i) << {mmio_addr_i[SmemShift-1:2], 2'd0};

  logic granted;
  assign granted = (vmem_valid_o & vmem_gnt_i) | (smem_valid_o & smem_gnt_i) | prog_valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= 1'b0;
    else if (granted && !mmio_we_i) asked_q <= 1'b1;
    else if (mmio_ready_o) asked_q <= 1'b0;
  end

  always_comb begin
    mmio_ready_o = 1'b0;
    mmio_rdata_o = '0;
    if (mmio_valid_i) begin
      mmio_ready_o = 1'b1;
      if (ok) begin
        case (region)
          Vmem: begin
            mmio_ready_o = mmio_we_i ? vmem_gnt_i : (asked_q & vmem_rsp_valid_i);
            mmio_rdata_o = vmem_rsp_data_i[32*mmio_addr_i[VmemShift-1:2] +: 32];
          end
          Smem: begin
            mmio_ready_o = mmio_we_i ? smem_gnt_i : (asked_q & smem_rsp_valid_i);
            mmio_rdata_o = smem_rsp_data_i[32*mmio_addr_i[SmemShift-1:2] +: 32];
          end
          Prog: begin
            mmio_ready_o = mmio_we_i | (asked_q & prog_rsp_valid_i);
            mmio_rdata_o = prog_rsp_data_i;
          end
          Ctrl: mmio_rdata_o = ctrl_rdata_i;
          Counter: mmio_rdata_o = counter_rdata_i;
          SemValueR: mmio_rdata_o = sem_value_i;
          SemModeR: mmio_rdata_o = sem_mode_i[32*mmio_addr_i[2] +: 32];
          Stage, Go: begin
            for (int unsigned i = 0; i < Queues; i++) mmio_rdata_o = mmio_rdata_o | stage_rdata_i[i];
          end
          Param: begin
            if (32'(mmio_addr_i[8:3]) < 32'(ParamRomEntries)) begin
              mmio_rdata_o = ParamRom[mmio_addr_i[7:3]][32*mmio_addr_i[2] +: 32];
            end
          end
          default: ;
        endcase
      end
    end
  end

endmodule
